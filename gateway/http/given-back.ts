import { isFailure } from '#common/errors.ts'
import type { Gateway } from '../context.ts'
import type { Exchange } from './endpoint.ts'

/** A proxy sends this header if it repeats a request at another gateway on this answer; without one that serves, it answers 503 in its place. */
const PROXY_REPEATS = 'weir-proxy-repeats'
export const GIVEN_BACK = 425

/**
 * The refusal of a request that may be repeated, with the status on which a proxy repeats it at another gateway, where that
 * one may serve it.
 */
export function givenBack(
  error: unknown,
  refused: Response,
  { input }: Pick<Exchange, 'input'>,
  { reach }: Pick<Gateway, 'reach'>,
): Response {
  const isForAnother =
    isFailure(error, 'unavailable') && refused.status === 503 && reach.mayAnotherServe
  if (!isForAnother || input.header(PROXY_REPEATS) !== String(GIVEN_BACK)) return refused
  return new Response(refused.body, { status: GIVEN_BACK, headers: refused.headers })
}
