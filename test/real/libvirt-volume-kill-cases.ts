import { createVolumeSaga as createInCell } from '#cells/conductor/sagas/create-volume.ts'
import { createVolumeSnapshotSaga as snapshotInCell } from '#cells/conductor/sagas/create-volume-snapshot.ts'
import { deleteVolumeSaga as deleteInCell } from '#cells/conductor/sagas/delete-volume.ts'
import { deleteVolumeSnapshotSaga as deleteSnapshotInCell } from '#cells/conductor/sagas/delete-volume-snapshot.ts'
import { extendVolumeSaga as extendInCell } from '#cells/conductor/sagas/extend-volume.ts'
import { changeVolumeSaga } from '#gateway/app/sagas/change-volume.ts'
import { createVolumeSaga } from '#gateway/app/sagas/create-volume.ts'
import { createVolumeSnapshotSaga } from '#gateway/app/sagas/create-volume-snapshot.ts'
import { deleteVolumeSaga } from '#gateway/app/sagas/delete-volume.ts'
import { deleteVolumeSnapshotSaga } from '#gateway/app/sagas/delete-volume-snapshot.ts'
import { extendVolumeSaga } from '#gateway/app/sagas/extend-volume.ts'
import { swapVolumeSaga } from '#gateway/app/sagas/swap-volume.ts'
import { type CommitPoint, commitsOf } from '../env/held-commit.ts'

const VICTIMS = ['gateway', 'cell', 'compute', 'libvirtd', 'QEMU'] as const
export type Victim = (typeof VICTIMS)[number]

/** A request that users make of volumes. */
export interface Operation {
  readonly name: string
  /** With the places where they run. */
  readonly sagas: readonly (readonly ['gateway' | 'cell', string, readonly CommitPoint[]])[]
  /** A server has the volume; its guest has an operating system where that has to release it. */
  readonly guest: 'none' | 'blank' | 'system'
  readonly isAttached?: true
  readonly hasSnapshot?: true
}

const firstRound = (step: string) => step.endsWith('-1')
const change = ['gateway', 'change-volume', commitsOf(changeVolumeSaga)] as const
const OPERATIONS: readonly Operation[] = [
  {
    name: 'create',
    guest: 'none',
    sagas: [
      ['gateway', createVolumeSaga.name, commitsOf(createVolumeSaga, firstRound)],
      ['cell', createInCell.name, commitsOf(createInCell)],
    ],
  },
  { name: 'attach', guest: 'blank', sagas: [change] },
  { name: 'detach', guest: 'system', isAttached: true, sagas: [change] },
  {
    name: 'swap',
    guest: 'blank',
    isAttached: true,
    sagas: [['gateway', swapVolumeSaga.name, commitsOf(swapVolumeSaga)]],
  },
  {
    name: 'extend',
    guest: 'blank',
    isAttached: true,
    sagas: [
      ['gateway', extendVolumeSaga.name, commitsOf(extendVolumeSaga)],
      ['cell', extendInCell.name, commitsOf(extendInCell)],
    ],
  },
  {
    name: 'snapshot',
    guest: 'blank',
    isAttached: true,
    sagas: [
      ['gateway', createVolumeSnapshotSaga.name, commitsOf(createVolumeSnapshotSaga)],
      ['cell', snapshotInCell.name, commitsOf(snapshotInCell)],
    ],
  },
  {
    name: 'delete-snapshot',
    guest: 'none',
    hasSnapshot: true,
    sagas: [
      ['gateway', deleteVolumeSnapshotSaga.name, commitsOf(deleteVolumeSnapshotSaga)],
      ['cell', deleteSnapshotInCell.name, commitsOf(deleteSnapshotInCell)],
    ],
  },
  {
    name: 'delete',
    guest: 'none',
    sagas: [
      ['gateway', deleteVolumeSaga.name, commitsOf(deleteVolumeSaga)],
      ['cell', deleteInCell.name, commitsOf(deleteInCell)],
    ],
  },
]

/** One kill. */
export interface Case {
  readonly operation: Operation
  readonly victim: Victim
  readonly place: 'gateway' | 'cell'
  readonly saga: string
  readonly point: CommitPoint
  /** The victim dies before the commit, or right after it, while the next step is under way. */
  readonly when: 'before' | 'past'
}

/** Each victim at each commit of each saga. */
export const CASES: readonly Case[] = OPERATIONS.flatMap((operation) =>
  operation.sagas.flatMap(([place, saga, points]) =>
    points.flatMap((point) =>
      VICTIMS.filter((victim) => victim !== 'QEMU' || operation.guest !== 'none').flatMap(
        (victim): readonly Case[] => {
          const at = { operation, victim, place, saga, point }
          const before = { ...at, when: 'before' as const }
          return point.begins === null ? [before] : [before, { ...at, when: 'past' }]
        },
      ),
    ),
  ),
)
export const labelOf = ({ operation, victim, place, point, when }: Case) =>
  `${operation.name}: ${victim} is killed ${when} the commit of the ${place} ${point.label}`
