// Verifies as the Standard Webhooks library for JavaScript does: a line {"secret", "headers", "body"} in, a line true or false out.
const { Webhook } = require("standardwebhooks");

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { secret, headers, body } = JSON.parse(line);
    try {
      new Webhook(secret).verify(body, headers);
      console.log(true);
    } catch {
      console.log(false);
    }
  });
