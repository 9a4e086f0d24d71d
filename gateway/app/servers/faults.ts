import type { Fault } from '#openapi/wire/instance.ts'
import type { CellChoice } from '../cells/choose-cell.ts'

/** What a server shows when no cell is left that could build it; the details are for operators. */
export function noValidHost(now: number, choice: CellChoice, reason: string | undefined): Fault {
  const last = choice.trace.filters.at(-1)
  const examples = (last?.examples ?? []).map((each) => `${each.candidate} ${each.reason}`)
  const emptied =
    choice.emptiedBy === undefined
      ? 'No cell is left to be asked.'
      : `${choice.emptiedBy} left no cell: ${examples.join('; ')}.`
  return {
    code: 500,
    message: 'No valid host was found.',
    details: reason === undefined ? emptied : `${emptied} The last cell asked said: ${reason}`,
    createdAt: now,
  }
}

/** What a server shows that ran in a cell which was given up. */
export function lostCell(now: number, cell: string): Fault {
  return {
    code: 500,
    message: 'The server was lost with the machines it ran on.',
    details: `Cell ${cell} was declared lost.`,
    createdAt: now,
  }
}

/** What a server shows whose building was begun by another version of this program and given up. */
export function interruptedBuild(now: number): Fault {
  return {
    code: 500,
    message: 'Build of the server was interrupted.',
    details: 'Its saga was begun by a version with other steps, and was unwound.',
    createdAt: now,
  }
}
