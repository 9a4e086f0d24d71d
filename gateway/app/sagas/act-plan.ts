import type { VolumeId } from '#common/ids.ts'
import type { SavingAct } from '#openapi/wire/act.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import type { TakenBackup } from '../../db/due-backups.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'
import type { SnapshotOrder } from '../servers/boot/server-images.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'

/** The shown fields that a rebuild changes; absent fields stay. */
export type Rebuilt = Partial<
  Pick<
    ServerRecord,
    | 'name'
    | 'hostname'
    | 'description'
    | 'metadata'
    | 'imageId'
    | 'keyName'
    | 'diskConfig'
    | 'accessIPv4'
    | 'accessIPv6'
    | 'configDrive'
  >
>

/** The effects of a plan. */
export type PlannedAction =
  | SavingAct
  | 'rebuild'
  | 'resize'
  | 'revert-resize'
  | 'unshelve'
  | 'soft-delete'
  | 'restore'

/** A volume that gets the content of an image. */
export type Reimage = {
  readonly volumeId: VolumeId
  /** What it says of its image then. */
  readonly imageMetadata: Readonly<Record<string, string>>
}

/** All parameters of an act besides its name. They are stored in a saga's row, so secrets among them are sealed. */
export type ActPlan =
  | {
      readonly kind: 'save'
      readonly order: SnapshotOrder
      /** Of a backup that a schedule has made due. */
      readonly scheduled?: TakenBackup
    }
  | {
      readonly kind: 'rebuild'
      readonly spec: BuildSpec
      readonly sealedUserData: string | null
      readonly sealedFiles: string | null
      readonly sealedPassword: string | null
      /** True: the server's user data stays as it is; `sealedUserData` is what it was. */
      readonly keepsUserData?: boolean
      readonly keepsEphemeral: boolean
      /** What the volume gets from which the server starts; absent: its content stays, or the server has a disk of its own. */
      readonly reimages?: Reimage
      readonly shown: Rebuilt
    }
  | {
      readonly kind: 'resize'
      readonly flavor: FlavorSnapshot
      readonly previous: FlavorSnapshot
      readonly diskConfig: ServerRecord['diskConfig']
    }
  /** Back to the flavor that the server's request has. */
  | { readonly kind: 'revert' }
  | {
      readonly kind: 'unshelve'
      readonly flavor: FlavorSnapshot
      readonly image: BuildSpec['image']
      /** Absent: the zone it was in before, if it was bound to one. */
      readonly zone?: string | null
      readonly host: string | null
    }
  /** Soft-deleted: its project is no longer charged for it. */
  | { readonly kind: 'keep' }
  /** Back from that. */
  | { readonly kind: 'restore' }
