import { writeSync } from 'node:fs'
import { workContext } from '#common/context.ts'
import { Database } from '#common/db/database.ts'
import { type Poison, poison } from '#common/isolated/testing.ts'
import type { SagaEngine } from '#common/saga/engine.ts'
import type { Saga } from '#common/saga/saga.ts'

/** What the process under test is, and whether it is the one that begins the sagas. */
export interface Deps {
  readonly isFirst: boolean
}
type Params = { readonly poison: Poison | null }

const STDOUT = 1

/** The first process executes the one without poison for ever, so that it is a suspect too. */
const saga: Saga<Deps, Params> = {
  name: 'poisoned',
  version: 1,
  steps: [
    {
      kind: 'remote',
      name: 'take',
      run: async ({ deps, params }) => {
        if (params.poison !== null) {
          writeSync(STDOUT, 'poison taken\n')
          return poison(params.poison)
        }
        return deps.isFirst ? new Promise<never>(() => undefined) : null
      },
      undo: async () => undefined,
    },
  ],
}

export const SAGAS = [saga] as const

/** Begins one without poison, then the one with it. */
export async function beginSagas(engine: SagaEngine<Deps>, kind: Poison): Promise<void> {
  for (const taken of [null, kind])
    await engine.start(saga, {
      subject: taken ?? 'innocent',
      params: { poison: taken },
      work: workContext({}),
    })
}

export function openDatabase(): Database {
  return new Database({ url: process.env['POISON_DATABASE_URL']!, connectionsMax: 4 })
}
