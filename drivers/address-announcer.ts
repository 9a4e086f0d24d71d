/** An address of a network of the site for which a host answers. */
export interface AnnouncedAddress {
  readonly networkId: string
  /** Null: the network is untagged. */
  readonly vlan: number | null
  /** IPv4. */
  readonly address: string
  readonly mac: string
}

/** Tells the networks of the site where addresses are that have moved to this host. */
export interface AddressAnnouncer {
  /**
   * Afterwards the switches of the site and the neighbours of each address were told several times within a second that
   * it is at this host. An address whose network the host does not reach is left out. Throws `unavailable` while the
   * host's switch does not answer, `unsupported` if it is on another machine.
   */
  announce(addresses: readonly AnnouncedAddress[], signal: AbortSignal): Promise<void>
}
