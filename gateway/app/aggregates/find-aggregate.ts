import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type Aggregate, listAggregates } from '../../db/aggregates.ts'

const NUMBER = /^-?\d{1,9}$/

export function allAggregates(db: Executor): Promise<readonly Aggregate[]> {
  return listAggregates(db)
}

/** The aggregate a client means; throws `not-found`, and `invalid` for what is no number. */
export async function showAggregate(db: Executor, id: string): Promise<Aggregate> {
  return aggregateOf(await listAggregates(db), id)
}

/** As `showAggregate`, of those given. */
export function aggregateOf(all: readonly Aggregate[], id: string): Aggregate {
  if (!NUMBER.test(id))
    throw new Failure('invalid', `The id of an aggregate is a number, not ${id}.`)
  const found = all.find((one) => one.id === Number(id))
  if (found === undefined) throw new Failure('not-found', `Aggregate ${id} could not be found.`)
  return found
}
