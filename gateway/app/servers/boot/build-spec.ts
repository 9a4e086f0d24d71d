import type { CellId } from '#common/ids.ts'
import type { ImageFile, ImageSnapshot, InstanceBuild } from '#openapi/wire/instance.ts'

/** What a host reads besides the content of the image. */
type FurtherFile = 'kernel' | 'ramdisk' | 'changes'

/** A server as a cell gets it, but for the secrets and for the ticket, which is made for one cell. */
export interface BuildSpec extends Omit<InstanceBuild, 'userData' | 'adminPassword' | 'image'> {
  /** The name that the hint `policy` gave. */
  readonly policyHint?: string
  /** When its owner last had it made again from an image, in milliseconds since the epoch: what was saved before is not its content any more. */
  readonly rebuiltAt?: number
  /**
   * Of a server that is built again in another cell, until it runs there: the image that its disk was saved in, from
   * which it is built.
   */
  readonly savedDisk?: {
    readonly image: BuildSpec['image']
    /** The cell that it left, which takes it back where no other takes it; null: that is lost. */
    readonly home: CellId | null
  }
  readonly image: Omit<ImageSnapshot, 'ticket' | FurtherFile> & {
    readonly [name in FurtherFile]?: Omit<ImageFile, 'ticket'>
  }
}
