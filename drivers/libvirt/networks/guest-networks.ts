import type { NetworkId } from '#common/ids.ts'
import type { NicSpec } from '../../driver.ts'
import type { FilterRule } from '../../firewall.ts'
import { INTEGRATION_BRIDGE } from '../../ovn/integration-bridge.ts'
import { element, type XmlElement } from '../xml/element.ts'

/** How NICs of guests reach their networks from this host. */
export interface GuestNetworks {
  /** The NIC as a domain has it. */
  interfaceOf(nic: NicSpec): XmlElement
  /** Afterwards a guest with this NIC can start; what its filter let through it lets through still. */
  plug(nic: NicSpec, signal: AbortSignal): Promise<void>
  /** Afterwards nothing is left of the NIC, nor of its network when `isUsed` says that no other NIC needs it. */
  unplug(
    nic: NicSpec,
    isUsed: (id: NetworkId) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<void>
  /** Afterwards the NIC's filter, if filters are made on the host, lets through these rules alone; null: everything. */
  filter(nic: NicSpec, rules: readonly FilterRule[] | null, signal: AbortSignal): Promise<void>
}

/** Where Open vSwitch switches packets: in the kernel, or in its own process; by Open vSwitch's names. */
export const OVS_DATAPATHS = ['system', 'netdev'] as const
export type OvsDatapath = (typeof OVS_DATAPATHS)[number]

const SENDING = ['csum', 'gso', 'tso4', 'tso6', 'ecn', 'ufo']
const RECEIVING = ['csum', 'tso4', 'tso6', 'ecn', 'ufo']

/**
 * Networks of OVN: the host plugs a NIC into the integration bridge under its port's UUID, and addresses, DHCP, routes and
 * security groups are what the cell wrote into the northbound database for that port.
 */
export class OvnNetworks implements GuestNetworks {
  readonly #datapath: OvsDatapath

  constructor(datapath: OvsDatapath) {
    this.#datapath = datapath
  }

  interfaceOf(nic: NicSpec): XmlElement {
    return element(
      'interface',
      { type: 'bridge' },
      element('mac', { address: nic.macAddress }),
      element('source', { bridge: INTEGRATION_BRIDGE }),
      element(
        'virtualport',
        { type: 'openvswitch' },
        element('parameters', { interfaceid: nic.portId }),
      ),
      element('model', { type: 'virtio' }),
      this.#datapath === 'netdev' ? withoutOffloads() : undefined,
      element('mtu', { size: nic.mtu }),
    )
  }

  /** libvirt adds the port to the bridge as the guest starts, and OVN binds it. */
  async plug(): Promise<void> {}

  /** libvirt removes the port from the bridge as the guest goes off. */
  async unplug(): Promise<void> {}

  /** The security groups of a port are ACLs of OVN. */
  async filter(): Promise<void> {}
}

/** The userspace datapath drops TCP whose checksums were left to a network card. */
function withoutOffloads(): XmlElement {
  const off = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'off']))
  return element(
    'driver',
    { name: 'qemu' },
    element('host', off(SENDING)),
    element('guest', off(RECEIVING)),
  )
}
