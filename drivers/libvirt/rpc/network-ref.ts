/** How libvirt names a network in a call. */
export interface NetworkRef {
  readonly name: string
  readonly uuid: Uint8Array
}
