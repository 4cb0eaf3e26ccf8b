// Renders /openapi.json: a section a route, its fields and its answers. Text is only ever set as text.
const add = (parent, tag, text = "") => {
  const element = document.createElement(tag);
  element.textContent = text;
  return parent.appendChild(element);
};

const row = (table, cells, tag = "td") => {
  const line = add(table, "tr");
  cells.forEach((cell) => add(line, tag, cell ?? ""));
};

const name = (schema = {}) =>
  schema.$ref?.split("/").pop() ??
  (schema.oneOf ?? schema.allOf)?.map(name).join(" or ") ??
  schema.title ??
  (schema.items ? `array of ${name(schema.items)}` : [schema.type ?? "any"].flat().join(" or "));

const limits = (schema) =>
  ["format", "pattern", "minLength", "maxLength", "minimum", "maximum"]
    .filter((key) => key in schema)
    .map((key) => `${key} ${schema[key]}`)
    .join(", ");

const fields = (parent, schema) => {
  for (const one of schema.oneOf ?? [schema]) {
    if (!one.properties) continue;
    if (one.title) add(parent, "h4", one.title);
    const table = add(parent, "table");
    row(table, ["Field", "Type", "Required", "Meaning"], "th");
    for (const [field, about] of Object.entries(one.properties)) {
      const type = [name(about), limits(about)].filter(Boolean).join("; ");
      row(table, [field, type, one.required?.includes(field) ? "yes" : "", about.description]);
    }
  }
};

const route = (main, path, method, operation) => {
  const section = add(main, "section");
  add(section, "h2", `${method.toUpperCase()} ${path}`);
  add(section, "p", [operation.summary, operation.description].filter(Boolean).join(". "));
  const body = operation.requestBody?.content["application/json"].schema;
  if (body) add(section, "p", `Body: ${name(body)}`);
  const table = add(section, "table");
  row(table, ["Answer", "When", "Body"], "th");
  for (const [status, answer] of Object.entries(operation.responses)) {
    const schema = answer.content?.["application/json"].schema;
    row(table, [status, answer.description, schema && name(schema)]);
  }
};

fetch("/openapi.json")
  .then((answer) => answer.json())
  .then((api) => {
    const main = document.getElementById("routes");
    add(main, "p", api.info.description);
    for (const [path, item] of Object.entries(api.paths))
      for (const [method, operation] of Object.entries(item)) route(main, path, method, operation);
    add(main, "h2", "Bodies");
    for (const [title, schema] of Object.entries(api.components.schemas)) {
      const section = add(main, "section");
      add(section, "h3", title);
      add(section, "p", schema.description);
      fields(section, schema);
    }
  })
  .catch(() => add(document.getElementById("routes"), "p", "The description could not be loaded."));
