import { isFailure } from '#common/errors.ts'
import { keptWork } from '#common/kept-work.ts'
import type { Gateway } from '../context.ts'
import type { Exchange } from './endpoint.ts'
import type { HeaderReader } from './http-input.ts'

/** A proxy sends this header if it repeats a request at another gateway on this answer; without one that serves, it answers 503 in its place. */
const PROXY_REPEATS = 'weir-proxy-repeats'
export const GIVEN_BACK = 425

/** HAProxy keeps 64 KiB of a request with its headers (`tune.bufsize`), and can repeat none that is longer. */
const REPEATED_BYTES_MAX = 48 * 1024

function isTooLong(header: HeaderReader): boolean {
  const bytes = Number(header('content-length') ?? 0)
  return bytes > REPEATED_BYTES_MAX || header('transfer-encoding') !== undefined
}

/**
 * Does `work`, of a request whose body was not read. One that is too long for a proxy to repeat cannot be given back: it waits here until the gateway reaches again what
 * it misses, as long as work waits for the database, and is done again from its start.
 */
export async function held<T>(
  { input }: Pick<Exchange, 'input'>,
  { reach, config }: Pick<Gateway, 'reach' | 'config'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isForAnother = isFailure(error, 'unavailable') && reach.mayAnotherServe
    if (!isForAnother || !isTooLong(input.header) || input.request.bodyUsed) throw error
    await reach.untilReached(config.databaseRetryMs)
    return work()
  }
}

/** Does `work`, of a request whose body may be read meanwhile. If it is too long for a proxy to repeat, the database is not given up under it. */
export function keptIfLong<T>(header: HeaderReader, work: () => T): T {
  return isTooLong(header) ? keptWork(work) : work()
}

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
