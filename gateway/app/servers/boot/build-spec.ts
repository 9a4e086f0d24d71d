import type { ImageFile, ImageSnapshot, InstanceBuild } from '#openapi/wire/instance.ts'

/** A server as a cell gets it, but for the secrets and for the ticket, which is made for one cell. */
export interface BuildSpec extends Omit<InstanceBuild, 'userData' | 'adminPassword' | 'image'> {
  /** The name that the hint `policy` gave. */
  readonly policyHint?: string
  readonly image: Omit<ImageSnapshot, 'ticket' | 'kernel' | 'ramdisk'> & {
    readonly [name in 'kernel' | 'ramdisk']?: Omit<ImageFile, 'ticket'>
  }
}
