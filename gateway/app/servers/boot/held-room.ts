import type { CellId } from '#common/ids.ts'
import type { Resources } from '../../../cell-client/cell.ts'
import type { Reservation } from '../../../cell-client/reservations.ts'
import type { ComputeDeps } from '../../compute.ts'
import type { GroupJoin } from '../../server-groups/group-joins.ts'

/** What keeps the choices of one gateway apart. */
export type RoomKeepers = Pick<ComputeDeps, 'cells' | 'groupJoins'>

interface Held {
  readonly reservation: Reservation
  readonly join: GroupJoin | undefined
}

/**
 * The room in cells for the servers of one request: taken with each choice of a cell, so that requests which are decided at the
 * same time know of each other, and free again on disposal unless the cells were asked.
 */
export class HeldRoom implements Disposable {
  readonly #keepers: RoomKeepers
  #held: Held[] = []

  constructor(keepers: RoomKeepers) {
    this.#keepers = keepers
  }

  /** `groupId` undefined: the server joins no group whose members are counted. */
  take(cellId: CellId, resources: Resources, groupId: string | undefined): void {
    const { cells, groupJoins } = this.#keepers
    const reservation = cells.reserve(cellId, resources)
    const join = groupId === undefined ? undefined : groupJoins.add(groupId, cellId)
    this.#held.push({ reservation, join })
  }

  /** The servers are written, and their cells are asked for them: one server for each choice, in the same order. */
  asked(serverIds: readonly string[]): void {
    const { cells, groupJoins } = this.#keepers
    for (const [nth, { reservation, join }] of this.#held.entries()) {
      const serverId = serverIds[nth]
      if (serverId === undefined) reservation.cancel()
      else cells.asked(serverId, reservation)
      if (join !== undefined) groupJoins.written(join)
    }
    this.#held = []
  }

  /** The choices do not count. */
  release(): void {
    for (const { reservation, join } of this.#held) {
      reservation.cancel()
      if (join !== undefined) this.#keepers.groupJoins.remove(join)
    }
    this.#held = []
  }

  [Symbol.dispose](): void {
    this.release()
  }
}
