import { Failure } from '#common/errors.ts'
import type { Extra } from './model.ts'

const EXTRA_MAX_CHARACTERS = 16_384

/** Properties of the client's own after a change: null takes one away. Throws `invalid` beyond 16 Ki characters. */
export function boundedExtra(before: Extra, change: Extra): Extra {
  const entries = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null)
  const extra = Object.fromEntries(entries)
  if (JSON.stringify(extra).length > EXTRA_MAX_CHARACTERS)
    throw new Failure(
      'invalid',
      `The further properties have more than ${EXTRA_MAX_CHARACTERS} characters.`,
    )
  return extra
}
