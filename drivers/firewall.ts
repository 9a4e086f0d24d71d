import type { InstanceId } from '#common/ids.ts'
import type { NicSpec } from './driver.ts'

export interface Firewall {
  /**
   * Afterwards these ports have these addresses and pass the traffic of these rules; other ports keep theirs. A port
   * that was never named passes only the packets that its guest needs to get an address. Ports that are not on this
   * host, or are busy, are skipped: the ids of the others are returned, and the skipped ports must be sent again.
   */
  apply(ports: readonly PortFilter[], signal: AbortSignal): Promise<readonly string[]>
}

export interface PortFilter {
  readonly instance: InstanceId
  /** The guest may send only from its MAC address and from one of its addresses. */
  readonly nic: NicSpec
  /** The permitted traffic, besides replies; null: all traffic, from any address. */
  readonly rules: readonly FilterRule[] | null
  /** The security groups of the rules; a group may have no rules. Absent: not given. */
  readonly groupIds?: readonly string[]
}

export interface FilterRule {
  readonly direction: 'ingress' | 'egress'
  readonly version: 4 | 6
  /** IANA's number; null: any. */
  readonly protocol: number | null
  /** Ports of the receiver, or ICMP's type and code; null: any. */
  readonly portMin: number | null
  readonly portMax: number | null
  /** Networks the other side may be in; null: any. */
  readonly remotes: readonly string[] | null
  /** The security group whose rule it is, and the one whose members `remotes` are. */
  readonly groupId?: string
  readonly remoteGroupId?: string
}
