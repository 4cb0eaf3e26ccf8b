// Signs as Stripe's library for JavaScript does: a line {"body", "secret", "timestamp"} in, a line with the header out.
const { webhooks } = require("stripe");

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { body, secret, timestamp } = JSON.parse(line);
    console.log(webhooks.generateTestHeaderString({ payload: body, secret, timestamp }));
  });
