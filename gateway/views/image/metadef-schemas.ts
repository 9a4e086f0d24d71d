const text = { type: 'string' }
const name = { ...text, maxLength: 80 }
const readOnlyText = { ...text, readOnly: true }
const dates = {
  created_at: { ...readOnlyText, format: 'date-time' },
  updated_at: { ...readOnlyText, format: 'date-time' },
}
const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string', null]
const stringArray = { type: 'array', items: text, uniqueItems: true }
const count = { type: 'integer', minimum: 0 }

const PROPERTY = {
  name,
  title: text,
  description: text,
  operators: { type: 'array', items: text },
  type: { ...text, enum: TYPES },
  required: stringArray,
  minimum: { type: 'number' },
  maximum: { type: 'number' },
  maxLength: count,
  minLength: count,
  pattern: { ...text, format: 'regex' },
  enum: { type: 'array' },
  readonly: { type: 'boolean' },
  default: {},
  items: {
    type: 'object',
    properties: { type: { ...text, enum: TYPES }, enum: { type: 'array' } },
  },
  maxItems: count,
  minItems: count,
  uniqueItems: { type: 'boolean', default: false },
  additionalItems: { type: 'boolean' },
}
const PROPERTIES = {
  type: 'object',
  additionalProperties: { type: 'object', required: ['title', 'type'], properties: PROPERTY },
}
const ASSOCIATION = { name, prefix: name, properties_target: name, ...dates }
const TAG = { name, ...dates }
const OBJECT = {
  name,
  description: text,
  required: stringArray,
  properties: PROPERTIES,
  schema: readOnlyText,
  self: readOnlyText,
  ...dates,
}
const NAMESPACE = {
  namespace: name,
  display_name: name,
  description: { ...text, maxLength: 500 },
  visibility: { ...text, enum: ['public', 'private'] },
  protected: { type: 'boolean' },
  owner: { ...text, maxLength: 255 },
  schema: readOnlyText,
  self: readOnlyText,
  ...dates,
  resource_type_associations: {
    type: 'array',
    items: { type: 'object', properties: ASSOCIATION },
  },
  properties: PROPERTIES,
  objects: { type: 'array', items: { type: 'object', properties: OBJECT } },
  tags: { type: 'array', items: { type: 'object', properties: { name: text } } },
}

type Schema = Readonly<Record<string, unknown>>

interface SchemaOfOne {
  readonly name: string
  readonly properties: object
  readonly required?: readonly string[]
}

function listSchema(plural: string, one: SchemaOfOne): Schema {
  return {
    name: plural,
    properties: {
      [plural]: { type: 'array', items: one },
      first: text,
      next: text,
      schema: text,
    },
    links: [
      { rel: 'first', href: '{first}' },
      { rel: 'next', href: '{next}' },
      { rel: 'describedby', href: '{schema}' },
    ],
  }
}

function closed(of: SchemaOfOne): Schema & SchemaOfOne {
  return { ...of, additionalProperties: false }
}

const ONE = {
  namespace: closed({ name: 'namespace', properties: NAMESPACE, required: ['namespace'] }),
  resourceType: closed({
    name: 'resource_type_association',
    properties: ASSOCIATION,
    required: ['name'],
  }),
  property: closed({
    name: 'property',
    properties: PROPERTY,
    required: ['name', 'title', 'type'],
  }),
  object: closed({ name: 'object', properties: OBJECT, required: ['name'] }),
  tag: closed({ name: 'tag', properties: TAG, required: ['name'] }),
}

const SCHEMAS: ReadonlyMap<string, Schema> = new Map<string, Schema>([
  ['namespace', ONE.namespace],
  ['namespaces', listSchema('namespaces', ONE.namespace)],
  ['resource_type', ONE.resourceType],
  ['resource_types', listSchema('resource_type_associations', ONE.resourceType)],
  ['property', ONE.property],
  ['properties', listSchema('properties', ONE.property)],
  ['object', ONE.object],
  ['objects', listSchema('objects', ONE.object)],
  ['tag', ONE.tag],
  ['tags', listSchema('tags', ONE.tag)],
])

/** The JSON schema of a metadata definition or of a list of them, by the name Glance's clients know. */
export function metadefSchemaNamed(of: string): Schema | undefined {
  return SCHEMAS.get(of)
}
