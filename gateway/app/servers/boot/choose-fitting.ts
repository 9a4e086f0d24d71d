import type { WorkContext } from '#common/context.ts'
import type { Executor } from '#common/db/database.ts'
import { errorFields } from '#common/log.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../../../cell-client/cell.ts'
import type { CellRequirements } from '../../cells/cell-request.ts'
import { type CellChoice, choiceMeasure } from '../../cells/choose-cell.ts'
import type { ComputeDeps } from '../../compute.ts'
import type { BootImage } from '../../images/image-for-boot.ts'
import { passedHints } from '../edit/server-remarks.ts'
import { chooseCells } from './choose-cells.ts'
import type { HeldRoom } from './held-room.ts'

type Question = CellAsk<'placement.explain'>
/** A decision on a thousand servers among ten thousand hosts takes less. */
const TIMEOUT_MS = 4_000

type About = Omit<Question, 'flavor' | 'image' | 'zone' | 'requestedHost' | 'remarks' | 'count'>

/** A request for several equal servers. */
export interface Several {
  readonly required: CellRequirements & { readonly image: BootImage }
  /** What cells need to know besides. */
  readonly about: About
  readonly minCount: number
  readonly count: number
  readonly room: HeldRoom
}

/**
 * Cells for as many of the servers as cells have hosts for. Where these are fewer than `minCount`, no cell for any: so
 * many choices that say why. The cells are asked before anything is written; claims made by others meanwhile may still
 * leave a server without a host.
 */
export async function chooseFitting(
  deps: ComputeDeps,
  db: Executor,
  { required, about, minCount, count, room }: Several,
  work: WorkContext,
): Promise<readonly CellChoice[]> {
  const fitting = new Map<string, number>()
  const question = { ...about, ...questionOf(required), count }
  for (;;) {
    const choices = await chooseCells(deps, db, required, { count, fitting, room })
    const unasked = count === 1 ? [] : chosenCells(choices).filter(({ id }) => !fitting.has(id))
    if (unasked.length === 0) {
      for (const { trace } of choices) choiceMeasure.report(trace)
      return count === 1 ? choices : asManyAsAllowed(choices, minCount, room)
    }
    const answers = await Promise.all(unasked.map((cell) => fittingIn(deps, cell, question, work)))
    for (const [index, { id }] of unasked.entries()) fitting.set(id, answers[index]!)
  }
}

function questionOf({ flavor, image, zone, requestedHost, hints }: Several['required']) {
  const { id, diskFormat, minDiskGb, properties } = image
  const judged = { id, diskFormat, minDiskGb, properties }
  return { flavor, image: judged, zone, requestedHost, remarks: { hints: passedHints(hints) } }
}

function chosenCells(choices: readonly CellChoice[]): readonly Cell[] {
  return [
    ...new Map(choices.flatMap(({ chosen }) => (chosen ? [[chosen.id, chosen]] : []))).values(),
  ]
}

/** A cell that does not answer, or is of the former release, is asked to build all that it seems to have room for. */
async function fittingIn(
  { askCell, log }: ComputeDeps,
  cell: Cell,
  question: Question,
  work: WorkContext,
): Promise<number> {
  try {
    const options = { work, timeoutMs: TIMEOUT_MS }
    const { fitting } = await askCell(cell, 'placement.explain', question, options)
    return fitting ?? Number.POSITIVE_INFINITY
  } catch (error) {
    log.info({ cell: cell.name, ...errorFields(error) }, 'cell cannot say how many servers fit')
    return Number.POSITIVE_INFINITY
  }
}

function asManyAsAllowed(
  choices: readonly CellChoice[],
  minCount: number,
  room: HeldRoom,
): readonly CellChoice[] {
  const refused = choices.find(({ chosen }) => chosen === undefined)
  if (refused === undefined) return choices
  const placed = choices.filter(({ chosen }) => chosen !== undefined)
  if (placed.length >= minCount) return placed
  room.release()
  return Array.from({ length: minCount }, () => refused)
}
