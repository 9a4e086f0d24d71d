import { Failure, isFailure } from '#common/errors.ts'

/** The exit codes of all commands. */
export const EXIT_CODES = {
  ok: 0,
  failed: 1,
  usage: 2,
  'not-found': 3,
  /** The answer is complete, but a part is as last known: a cell is unreachable. */
  partial: 4,
  'timed-out': 5,
  interrupted: 130,
} as const
export type Ending = keyof typeof EXIT_CODES

/** The awaited state was not reached in time. It may still be reached. */
export class WaitExpired extends Failure {
  constructor(message: string) {
    super('unavailable', message)
  }
}

/** How a command ends that threw this. */
export function endingOf(error: unknown): Ending {
  if (error instanceof WaitExpired) return 'timed-out'
  if (isFailure(error, 'not-found')) return 'not-found'
  return isFailure(error, 'invalid') ? 'usage' : 'failed'
}
