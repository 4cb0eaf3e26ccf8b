// Draws /openapi.json: a table of contents, the operations by tag, the bodies and headers they refer to. Text is only
// ever set as text.
const add = (parent, tag, text = "", attributes = {}) => {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return parent.appendChild(element);
};

const link = (parent, anchor, text) => add(parent, "a", text, { href: `#${anchor}` });

// Text in which `code` stands between backticks.
const prose = (parent, text, tag = "p") => {
  if (!text) return;
  const element = add(parent, tag);
  text.split("`").forEach((part, index) => add(element, index % 2 ? "code" : "span", part));
};

const last = (reference) => reference.split("/").pop();
const anchorOf = (tag) => tag.replaceAll(" ", "-");
const isNull = (schema) => schema.type === "null";
const limits = ["format", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum"];

// What a value is: links to the bodies it is made of, else its type and its limits.
const type = (parent, schema) => {
  const list = (schemas, between) =>
    schemas.forEach((one, index) => {
      if (index) add(parent, "span", between);
      type(parent, one);
    });
  if (schema.$ref) return link(parent, `body-${last(schema.$ref)}`, last(schema.$ref));
  if (schema.allOf) return list(schema.allOf, " with ");
  if (schema.oneOf) return list(schema.oneOf, " or ");
  if (schema.items) {
    add(parent, "span", "array of ");
    return type(parent, schema.items);
  }
  const known = limits.filter((key) => key in schema).map((key) => `${key} ${schema[key]}`);
  const names = schema.title ?? [schema.type ?? "any"].flat().join(" or ");
  add(parent, "span", [names, ...known].join(", "));
};

const field = (list, name, about, required) => {
  const term = add(list, "dt");
  add(term, "code", name);
  const note = add(term, "span", required ? " required, " : " ", { class: "note" });
  type(note, about.schema ?? about);
  prose(list, about.description, "dd");
};

const fields = (parent, schema) => {
  prose(parent, schema.description);
  if (schema.properties) {
    const list = add(parent, "dl");
    for (const [name, about] of Object.entries(schema.properties))
      field(list, name, about, schema.required?.includes(name));
  }
  (schema.oneOf ?? schema.allOf ?? []).filter((one) => !isNull(one)).forEach((one, index) => {
    if (schema.oneOf) add(parent, "h4", one.title ?? `${index ? "or" : "either"}`);
    if (one.$ref) type(add(parent, "p"), one);
    else fields(parent, one);
  });
};

const examples = (parent, body) => {
  for (const { summary, value } of Object.values(body.examples ?? {})) {
    add(parent, "p", summary, { class: "note" });
    add(parent, "pre", JSON.stringify(value, null, 2), { tabindex: 0 });
  }
};

const answer = (parent, status, about) => {
  const details = add(parent, "details");
  const summary = add(details, "summary");
  add(summary, "code", status);
  prose(summary, ` ${about.description}`, "span");
  const body = about.content?.["application/json"];
  if (body) {
    type(add(details, "p", "Body: "), body.schema);
    examples(details, body);
  }
  const headers = Object.keys(about.headers ?? {});
  if (!headers.length) return;
  const line = add(details, "p", "Headers: ");
  headers.forEach((name, index) => {
    if (index) add(line, "span", ", ");
    link(line, `header-${name}`, name);
  });
};

const credential = (security) => {
  if (!security) return "No key is needed.";
  return security.some((one) => !Object.keys(one).length)
    ? "Program key: optional, as a bearer token."
    : "Program key: required, as a bearer token.";
};

const drawOperation = (parent, path, method, operation) => {
  const article = add(parent, "article", "", { id: operation.operationId });
  const title = link(add(article, "h3"), operation.operationId, "");
  add(title, "span", method.toUpperCase(), { class: "method" });
  add(title, operation.deprecated ? "s" : "span", path);
  prose(article, `${operation.summary}. ${operation.description ?? ""}`);
  add(article, "p", credential(operation.security), { class: "note" });
  if (operation.parameters) {
    add(article, "h4", "Parameters");
    const list = add(article, "dl");
    for (const one of operation.parameters) field(list, one.name, one, one.required);
  }
  const body = operation.requestBody?.content["application/json"];
  if (body) {
    add(article, "h4", "Request");
    type(add(article, "p", "Body: "), body.schema);
    const details = add(article, "details");
    add(details, "summary", "Examples");
    examples(details, body);
  }
  add(article, "h4", "Answers");
  for (const [status, about] of Object.entries(operation.responses)) answer(article, status, about);
};

const drawContents = (contents, title, links) => {
  add(contents, "h2", title);
  const list = add(contents, "ul");
  for (const [anchor, text] of links) link(add(list, "li"), anchor, text);
};

const draw = (api) => {
  const contents = document.getElementById("contents");
  const page = document.getElementById("described");
  prose(page, api.info.description);
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  for (const { name, description } of api.tags) {
    const tagged = operations.filter(({ operation }) => operation.tags.includes(name));
    const section = add(page, "section", "", { id: `tag-${anchorOf(name)}` });
    add(section, "h2", name[0].toUpperCase() + name.slice(1));
    prose(section, description);
    for (const { path, method, operation } of tagged) drawOperation(section, path, method, operation);
    const title = ({ path, method, operation }) => [operation.operationId, `${method.toUpperCase()} ${path}`];
    drawContents(contents, name[0].toUpperCase() + name.slice(1), tagged.map(title));
  }
  const headers = add(page, "section", "", { id: "headers" });
  add(headers, "h2", "Headers");
  for (const [name, about] of Object.entries(api.components.headers)) {
    const article = add(headers, "article", "", { id: `header-${name}` });
    field(add(article, "dl"), name, about, false);
  }
  const bodies = add(page, "section", "", { id: "bodies" });
  add(bodies, "h2", "Bodies");
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    const article = add(bodies, "article", "", { id: `body-${name}` });
    link(add(article, "h3"), `body-${name}`, name);
    fields(article, schema);
  }
  drawContents(contents, "About all of them", [
    ["headers", "Headers"],
    ["bodies", "Bodies"],
    ["key-rotation", "Rotating a program key"],
  ]);
};

// The page was empty when the browser looked for the anchor of its address.
const goToAnchor = () => {
  const { hash } = location;
  if (!hash) return;
  location.hash = "";
  location.hash = hash;
};

fetch("/openapi.json")
  .then((answer) => answer.json())
  .then(draw)
  .then(goToAnchor)
  .catch(() => add(document.getElementById("described"), "p", "The description could not be loaded."));
