import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Static, TSchema } from 'typebox'
import { Failure } from '#common/errors.ts'

// Its optimizer takes half the time of a compilation, and V8 finds what it finds.
const ajv = new Ajv2020({ strict: false, code: { optimize: false } })
const compiled = new WeakMap<TSchema, ValidateFunction>()

/** The value, known to be what the contract says; throws `invalid` naming the first thing that is not. */
export function checked<T extends TSchema>(schema: T, value: unknown, what: string): Static<T> {
  const validate = validatorOf(schema)
  if (validate(value)) return value as Static<T>
  throw new Failure('invalid', `${what} breaks the contract: ${ajv.errorsText(validate.errors)}`)
}

/**
 * Afterwards the first value of each of these is checked as fast as later ones: compiling the larger schemas takes a tenth
 * of a second, in which the process does nothing else.
 */
export function compileChecks(schemas: readonly TSchema[]): void {
  for (const schema of schemas) validatorOf(schema)
}

function validatorOf(schema: TSchema): ValidateFunction {
  let validate = compiled.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(schema)
    compiled.set(schema, validate)
  }
  return validate
}
