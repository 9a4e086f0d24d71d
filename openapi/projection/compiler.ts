import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { build } from 'fast-json-stringify'
import { isNode, type Node } from './annotations.ts'
import { addFormats } from './formats.ts'

export type Validate = ValidateFunction
export type Serialize = (value: unknown) => string

/** Compiles plain schemas, each distinct one once. */
export interface Compiler {
  validator(schema: unknown): Validate
  /** A validator that first takes out of the value itself what an object of a closed schema must not have. */
  pruner(schema: unknown): Validate
  serializer(schema: unknown): Serialize
  /** How many validators and serializers were compiled so far. */
  readonly compiled: number
}

/** Documents are ours and finite, so what was compiled is kept for the life of the process. */
export function createCompiler(): Compiler {
  const options = {
    allErrors: true,
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    addUsedSchema: false,
    // The optimizer takes half the time of a compilation, and V8 finds what it finds.
    code: { optimize: false },
  }
  const ajv = new Ajv2020(options)
  const pruning = new Ajv2020({ ...options, removeAdditional: true })
  addFormats(ajv)
  addFormats(pruning)
  const validators = new Map<string, Validate>()
  const pruners = new Map<string, Validate>()
  const serializers = new Map<string, Serialize>()

  return {
    get compiled() {
      return validators.size + pruners.size + serializers.size
    },
    validator: (schema) =>
      remembered(validators, JSON.stringify(schema), () => ajv.compile(schema as object)),
    pruner: (schema) =>
      remembered(pruners, JSON.stringify(schema), () => pruning.compile(schema as object)),
    serializer: (schema) => {
      const shape = shapeOf(schema)
      return remembered(serializers, JSON.stringify(shape), () =>
        build(shape as object, { ajv: { formats: { [PLAIN]: true } } }),
      )
    },
  }
}

function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  const hit = known.get(key)
  if (hit !== undefined) return hit
  const made = make()
  known.set(key, made)
  return made
}

/** Keywords that say something of a value but nothing of how it is written. */
const NOT_SHAPE = new Set(
  'description examples format pattern enum minimum maximum minLength maxLength minItems maxItems uniqueItems minProperties maxProperties propertyNames'.split(
    ' ',
  ),
)

function shapeOf(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(shapeOf)
  if (!isNode(node)) return node
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(node)) {
    if (NOT_SHAPE.has(key)) continue
    const isMap = key === 'properties' && isNode(value)
    out[key] = isMap ? mapValues(value, shapeOf) : shapeOf(value)
  }
  if (isPlainText(node)) out['format'] = PLAIN
  return out
}

/** The serializer's own format for texts that need no escaping; where it looks at a choice its validator must know it. */
const PLAIN = 'unsafe'

/** Our own ids, times and addresses: they hold nothing that JSON escapes, so looking for it is half the work. */
const PLAIN_FORMATS = new Set<unknown>(['uuid', 'date-time', 'uri'])

function isPlainText(node: Node): boolean {
  const { type } = node
  const isText = type === 'string' || (Array.isArray(type) && type.includes('string'))
  return isText && (PLAIN_FORMATS.has(node['format']) || node['enum'] !== undefined)
}

function mapValues(map: object, change: (value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]))
}
