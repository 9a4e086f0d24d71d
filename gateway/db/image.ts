import type { ImageStatus, ImageVisibility } from '#common/states/image-states.ts'

/** The content of an active image. */
export interface ImageContent {
  readonly sizeBytes: number
  /** The size of the disk that a guest sees. */
  readonly virtualSizeBytes: number
  readonly md5: string
  readonly sha256: string
  readonly sha512: string
  /** The host that keeps it, where gateways read it; absent: their store has it. */
  readonly hostId?: string
}

/** The properties that users set, at creation and later. */
export interface ImageFields {
  readonly name: string | null
  readonly visibility: ImageVisibility
  readonly owner: string
  readonly diskFormat: string | null
  readonly containerFormat: string | null
  readonly minDiskGb: number
  readonly minRamMb: number
  readonly isProtected: boolean
  readonly isHidden: boolean
  /** Everything that is not one of Glance's own attributes. */
  readonly properties: Readonly<Record<string, string>>
  /** Sorted, without repeats. */
  readonly tags: readonly string[]
}

export interface Image extends ImageFields {
  readonly id: string
  readonly status: ImageStatus
  readonly content: ImageContent | null
  /** The content that an import has yet to check: it is never served, and its format is unknown. */
  readonly staged: ImageContent | null
  /** The image since which the content has what a server has written; null: it is a whole disk, or will be. */
  readonly changesOf: string | null
  /** True for a part of a disk that changes cells, or of a backup, which no request may name and no quota counts. */
  readonly isPartOfMove: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Rises with every change; updates are conditional on it. */
  readonly revision: number
}

/** The fields alone, of an image or anything that has them. */
export function fieldsOf(fields: ImageFields): ImageFields {
  const { name, visibility, owner, diskFormat, containerFormat } = fields
  const { minDiskGb, minRamMb, isProtected, isHidden, properties, tags } = fields
  return {
    name,
    visibility,
    owner,
    diskFormat,
    containerFormat,
    minDiskGb,
    minRamMb,
    isProtected,
    isHidden,
    properties,
    tags,
  }
}
