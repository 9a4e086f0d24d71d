import { continueSaga } from '#common/saga/log.ts'
import { readStuck } from '#common/saga/stuck.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'

const LISTED_MAX = 100

/** The oldest stuck sagas of the cell, at most a hundred, and those of these ids in any state. */
export async function sagaListStuck(
  { conductor }: Cell,
  { ids }: CellAsk<'saga.list-stuck'>,
): Promise<CellAnswer<'saga.list-stuck'>> {
  const found = await readStuck(conductor.db, LISTED_MAX, ids)
  const sagas = found.map(({ startedAt, endedAt, ...saga }) => ({
    ...saga,
    startedAt: startedAt.getTime(),
    endedAt: endedAt?.getTime() ?? null,
  }))
  return { sagas }
}

/** Afterwards the saga is due: this process, or the one that holds its sagas, takes it up within a second. */
export async function sagaContinue(
  { conductor, sagas }: Cell,
  { id }: CellAsk<'saga.continue'>,
): Promise<CellAnswer<'saga.continue'>> {
  const isContinued = await continueSaga(conductor.db, id)
  if (isContinued) await sagas.recover()
  return { isContinued }
}
