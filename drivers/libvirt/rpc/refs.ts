/** How libvirt names a domain in a call. `id` is -1 while it is off, and must be current when it is not. */
export interface DomainRef {
  readonly name: string
  readonly uuid: Uint8Array
  readonly id: number
}

/** How libvirt names a storage pool in a call. */
export interface PoolRef {
  readonly name: string
  readonly uuid: Uint8Array
}

/** How libvirt names a network in a call. */
export interface NetworkRef {
  readonly name: string
  readonly uuid: Uint8Array
}
