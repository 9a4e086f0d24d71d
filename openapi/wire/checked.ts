import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Static, TSchema } from 'typebox'
import { Failure } from '#common/errors.ts'

const ajv = new Ajv2020({ strict: false })
const compiled = new WeakMap<TSchema, ValidateFunction>()

/** The value, known to be what the contract says; throws `invalid` naming the first thing that is not. */
export function checked<T extends TSchema>(schema: T, value: unknown, what: string): Static<T> {
  let validate = compiled.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(schema)
    compiled.set(schema, validate)
  }
  if (validate(value)) return value as Static<T>
  throw new Failure('invalid', `${what} breaks the contract: ${ajv.errorsText(validate.errors)}`)
}
