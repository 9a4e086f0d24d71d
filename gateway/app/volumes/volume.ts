import type { CellId, SagaId, VolumeId } from '#common/ids.ts'
import type { VolumeEncryption, VolumeSource, VolumeState } from '#openapi/wire/cell-volume.ts'

/** Cinder's words for what a volume does. */
export const VOLUME_STATUSES = [
  'creating',
  'available',
  'extending',
  'uploading',
  'reverting',
  'downloading',
  'attaching',
  'in-use',
  'detaching',
  'awaiting-transfer',
  'maintenance',
  'retyping',
  'deleting',
  'error',
  'error_deleting',
] as const
export type VolumeStatus = (typeof VOLUME_STATUSES)[number]

/** What a volume's content is made from. The ticket for an image is added for the cell that is asked. */
export type StoredSource =
  | Exclude<VolumeSource, { readonly kind: 'image' | 'sealed-image' }>
  | { readonly kind: 'image'; readonly image: SourceImage }

/** An image without the ticket. */
export type SourceImage = Omit<OfImage['image'], 'ticket'>

type OfImage = Extract<VolumeSource, { readonly kind: 'image' }>

/** A volume as the gateways know it. Times in milliseconds since the epoch, sizes in GiB. */
export interface Volume {
  readonly id: VolumeId
  readonly projectId: string
  readonly userId: string
  readonly name: string | null
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly typeId: string | null
  /** The type that it gets once it is in another store, for which the quota counts it as well; null: it keeps its own. */
  readonly nextTypeId: string | null
  /** The extra specs of its type when it was created. */
  readonly specs: Readonly<Record<string, string>>
  readonly zone: string | null
  readonly sizeGb: number
  /** What the quota was charged for it. */
  readonly chargedGb: number
  readonly status: VolumeStatus
  readonly isDeleting: boolean
  readonly isBootable: boolean
  /** Null: it is not encrypted. */
  readonly encryption: VolumeEncryption | null
  readonly isMultiattach: boolean
  /** Servers get it without the right to write; null: its user has never said. */
  readonly isReadOnly: boolean | null
  /** What its content was made from; null: it began empty. */
  readonly source: StoredSource | null
  /** What the image says of the disk that it has; null: it is of no image. */
  readonly imageMetadata: Readonly<Record<string, string>> | null
  /** The same of the image that it is being given, once it has the content; null: none is. */
  readonly nextImageMetadata: Readonly<Record<string, string>> | null
  /** Null while no cell has it. */
  readonly cellId: CellId | null
  readonly attempt: number
  /** The highest attempt in which a cell was asked to take it over from another; 0: none was. */
  readonly lastAttempt: number
  readonly triedCells: readonly CellId[]
  readonly cellVersion: number
  readonly storeId: string | null
  readonly storeName: string | null
  /** For operators. */
  readonly fault: string | null
  readonly sagaId: SagaId | null
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date | null
}

/** What lists and views show of a volume, to users and to operators. */
export type ShownVolume = Pick<
  Volume,
  | 'id'
  | 'projectId'
  | 'userId'
  | 'name'
  | 'description'
  | 'metadata'
  | 'typeId'
  | 'zone'
  | 'sizeGb'
  | 'status'
  | 'isBootable'
  | 'encryption'
  | 'isMultiattach'
  | 'isReadOnly'
  | 'source'
  | 'imageMetadata'
  | 'cellId'
  | 'storeName'
  | 'fault'
  | 'createdAt'
  | 'updatedAt'
>

/** Cinder's word for the state of a cell's volume. */
export function statusOf(state: VolumeState): VolumeStatus {
  return state === 'error-deleting' ? 'error_deleting' : state
}

/** The statuses in which Cinder deletes a volume that is not forced. */
export const DELETABLE: readonly VolumeStatus[] = ['available', 'error', 'error_deleting']
