import type { SagaEngine } from '#common/saga/engine.ts'
import type { Conductor } from './conductor/conductor.ts'

/** One process of a cell: what its handlers and reconcilers work with. */
export interface Cell {
  readonly conductor: Conductor
  readonly sagas: SagaEngine<Conductor>
  /** Random, of the cell's database: feed positions mean something within it only. */
  readonly incarnation: string
}
