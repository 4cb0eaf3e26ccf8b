// Confirms a command line: who is signed in, for which workspace, and one button. Text is only ever set as text.
const $ = (id) => document.getElementById(id);
const state = new URLSearchParams(location.hash.slice(1)).get("state");
// Of a sign-in on this page; browsers that keep no cookie for this address get on with it, too.
let token = null;

const say = (text) => {
  $("message").textContent = text;
  $("message").focus();
};

const show = (form) => {
  for (const one of ["sign-in", "confirm"]) $(one).hidden = one !== form;
};

const ask = async (method, path, body) => {
  const headers = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin" });
  const json = await answer.json().catch(() => ({}));
  return { status: answer.status, json, error: json.error ?? {} };
};

const FAILED = "Something went wrong. Try again in a moment.";

const why = (answer) => {
  if (answer.error.details?.code === "ACCOUNT_BLOCKED") return "Your account has been suspended.";
  return (answer.status < 500 && answer.error.message) || FAILED;
};

const signIn = (text = "Sign in to go on.") => {
  show("sign-in");
  say(text);
  $("password").value = "";
  $($("identifier").value ? "password" : "identifier").focus();
};

const offer = (user) => {
  const workspaces = (user.workspaces ?? []).filter(({ role }) => role === "owner" || role === "admin");
  if (workspaces.length === 0) {
    signIn(`${user.email} runs no workspace. Sign in with the account of its owner or an admin.`);
    return;
  }
  const several = workspaces.length > 1;
  $("account").textContent = user.email;
  $("workspace").textContent = workspaces[0].name;
  for (const id of ["workspace", "workspace-label"]) $(id).hidden = several;
  for (const id of ["workspaces", "choose"]) $(id).hidden = !several;
  $("workspaces").replaceChildren(...workspaces.map(({ id, name }) => new Option(name, id)));
  show("confirm");
  // The button is not in focus: a key pressed once too often must not hand over an account.
  say("A command line wants to act for you:");
};

const look = async () => {
  const answer = await ask("GET", "/api/users/me");
  if (answer.status === 200) offer(answer.json);
  else if (answer.status === 401) signIn();
  else say(why(answer));
};

// One request at a time, and a word about what failed.
const submits = (form, work) =>
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const buttons = [...form.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    await work().catch(() => say(FAILED));
    for (const button of buttons) button.disabled = false;
  });

submits($("sign-in"), async () => {
  const body = { identifier: $("identifier").value, password: $("password").value };
  const answer = await ask("POST", "/api/auth/local", body);
  if (answer.status !== 200) return signIn(why(answer));
  token = answer.json.jwt;
  $("password").value = "";
  await look();
});

submits($("confirm"), async () => {
  const body = { state, workspace_id: Number($("workspaces").value) };
  const answer = await ask("POST", "/api/auth/cli/confirm", body);
  if (answer.status === 401) {
    token = null;
    return signIn("You have been signed out. Sign in again.");
  }
  // Expired, confirmed, or none at all: trying again would not help.
  if ([200, 400, 404, 409].includes(answer.status)) show(null);
  if (answer.status !== 200) return say(why(answer));
  say(`Connected to ${answer.json.data.workspace_name}. You can close this page and return to the command line.`);
});

$("other").addEventListener("click", async () => {
  await ask("POST", "/api/auth/logout").catch(() => {});
  token = null;
  $("identifier").value = "";
  signIn();
});

if (state) look().catch(() => say(FAILED));
else say("This address is incomplete. Run the login command again, and open the address it shows.");
