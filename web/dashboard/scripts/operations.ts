/**
 * What `src/api/operations.ts` should be: the types of the API, from its description in `docs/openapi.json`.
 * A unit test compares them, and `npm run operations` writes the file anew.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface Schema {
  $ref?: string;
  type?: string | string[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  enum?: unknown[];
}

interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const HEAD = `// Written by \`npm run operations\` from docs/openapi.json.\n`;

/** What the whole file should be. */
export function operations(): string {
  const api = JSON.parse(readFileSync(here('../../../docs/openapi.json'), 'utf8')) as Description;
  const schemas = Object.entries(api.components.schemas).map(
    ([name, schema]) => `export type ${name} = ${type(schema)};\n`,
  );
  const lines = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => `  '${method.toUpperCase()} ${path}': ${described(operation)};\n`),
  );
  return `${HEAD}\n${schemas.join('')}\nexport interface Operations {\n${lines.join('')}}\n`;
}

function described(operation: Operation): string {
  const parameters = (place: string) => {
    const named = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
    const fields = named.map(({ name, required, schema }) => `'${name}'${required ? '' : '?'}: ${type(schema)}`);
    return fields.length > 0 ? `{ ${fields.join('; ')} }` : 'undefined';
  };
  const body = operation.requestBody?.content['application/json'];
  const answer = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1];
  const json = answer?.content?.['application/json']?.schema;
  const other = answer?.content ? 'string' : 'undefined';
  return (
    `{ path: ${parameters('path')}; query: ${parameters('query')}; ` +
    `body: ${body ? type(body.schema) : 'undefined'}; answer: ${json ? type(json) : other} }`
  );
}

function type(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? 'unknown';
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map(type).join(' | ');
  if (schema.allOf) return schema.allOf.map((part) => `(${type(part)})`).join(' & ');
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const types = [schema.type ?? []].flat();
  return types.length > 0 ? types.map((name) => named(name, schema)).join(' | ') : 'unknown';
}

function named(name: string, schema: Schema): string {
  switch (name) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `Array<${type(schema.items ?? {})}>`;
    case 'object':
      return fields(schema);
    default:
      return name;
  }
}

function fields(schema: Schema): string {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) {
    const values = schema.additionalProperties;
    return `Record<string, ${typeof values === 'object' ? type(values) : 'unknown'}>`;
  }
  const required = new Set(schema.required);
  const lines = properties.map(([name, value]) => `'${name}'${required.has(name) ? '' : '?'}: ${type(value)}`);
  return `{ ${lines.join('; ')} }`;
}
