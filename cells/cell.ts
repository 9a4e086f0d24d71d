import type { SagaEngine } from '#common/saga/engine.ts'
import type { Conductor } from './conductor/conductor.ts'
import type { KnownSites } from './site/known-sites.ts'

/** One process of a cell: what its handlers and reconcilers work with. */
export interface Cell {
  readonly conductor: Conductor
  /** Random, of this process: by it gateways ask this one and no other. */
  readonly processId: string
  readonly sagas: SagaEngine<Conductor>
  /** Random, of the cell's database: feed positions mean something within it only. */
  readonly incarnation: string
  readonly sites: KnownSites
}
