import { Failure } from '#common/errors.ts'
import type { KeptSession } from '../cloud/kept-session.ts'
import { keepSession } from '../cloud/kept-session.ts'
import { WaitExpired } from '../exit-codes.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'
import { Progress } from '../output/progress.ts'
import { styleFor } from '../output/style.ts'
import { fieldsView, rendered } from '../output/view.ts'
import { type Operation, operationListing } from './operation-listing.ts'

export interface WaitOptions extends ViewOptions {
  /** Seconds to wait at most; absent: as long as it takes. */
  readonly timeout?: number
}

/** A single request waits no longer, so that progress is seen. */
const ASK_S = 5
const MS_PER_S = 1_000

/**
 * Shows how an operation gets on until it has ended, and then how. Throws `WaitExpired` when that takes too long, and
 * `conflict` when it ends without having done what it was for.
 */
export async function waitForOperation(
  operator: Operator,
  id: string,
  options: WaitOptions,
): Promise<void> {
  const within = await keepSession(operator, options)
  const ended = await untilEnded(operator, within, id, options)
  const { out, env } = operator
  const view = fieldsView(ended, operationListing(Date.now()))
  out.write(await rendered(view, options.output, styleFor(out, env)))
  if (ended.state !== 'done')
    throw new Failure(
      'conflict',
      `Operation ${id} is ${ended.state}: ${ended.message ?? 'no reason is known'}`,
    )
}

async function untilEnded(
  operator: Operator,
  within: KeptSession,
  id: string,
  { timeout = Number.POSITIVE_INFINITY }: WaitOptions,
): Promise<Operation> {
  const progress = new Progress(operator.err)
  const end = performance.now() + timeout * MS_PER_S
  try {
    for (;;) {
      const leftS = Math.max(0, Math.ceil((end - performance.now()) / MS_PER_S))
      const call = { path: { operation: id }, query: { wait: Math.min(ASK_S, leftS) } }
      const operation = await within(({ federation }) =>
        federation.ask('get', '/v1/operations/{operation}', call),
      )
      const { state, kind, subject, remaining, total, message } = operation
      const rest = remaining === null ? state : `${remaining} remaining`
      const why = message === null ? '' : ` (${message})`
      progress.show(
        `${kind} ${subject}: ${rest}${why}`,
        (total ?? 0) - (remaining ?? 0),
        total ?? 0,
      )
      if (state !== 'running') return operation
      if (performance.now() >= end)
        throw new WaitExpired(
          `Operation ${id} goes on: ${rest}${why}. To wait again, run: ./weir operation wait ${id}`,
        )
    }
  } finally {
    progress.end()
  }
}
