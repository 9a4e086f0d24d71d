import { type Static, Type } from 'typebox'
import { usualProtocol } from '#common/ip-protocols.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { FilterRule } from '../../firewall.ts'
import { Id } from '../cloud/id.ts'

/** A rule as Neutron has it. */
export const CloudRule = Type.Object({
  id: Id,
  direction: Type.String(),
  ethertype: Type.String(),
  protocol: Nullable(Type.Union([Type.String(), Type.Integer()])),
  port_range_min: Nullable(Type.Integer()),
  port_range_max: Nullable(Type.Integer()),
  remote_ip_prefix: Nullable(Type.String()),
  remote_group_id: Nullable(Type.String()),
})
export type CloudRule = Static<typeof CloudRule>

export type RuleBody = Omit<CloudRule, 'id'> & { readonly security_group_id: string }

/**
 * The rules of a group in the nested cloud. A rule for the members of a group names the cloud's own group, whose id
 * `remotes` has: members elsewhere do not reach this cloud's networks.
 */
export function ruleBodies(
  groupBelow: string,
  rules: readonly FilterRule[],
  remotes: ReadonlyMap<string, string>,
): readonly RuleBody[] {
  return rules.flatMap((rule): readonly RuleBody[] => {
    const one = {
      security_group_id: groupBelow,
      direction: rule.direction,
      ethertype: rule.version === 4 ? 'IPv4' : 'IPv6',
      protocol: rule.protocol === null ? null : String(rule.protocol),
      port_range_min: rule.portMin,
      port_range_max: rule.portMax,
    }
    const group = remotes.get(rule.remoteGroupId ?? '')
    if (group !== undefined) return [{ ...one, remote_group_id: group, remote_ip_prefix: null }]
    const prefixes = rule.remotes ?? [null]
    return prefixes.map((prefix) => ({ ...one, remote_group_id: null, remote_ip_prefix: prefix }))
  })
}

/** What to make and what to remove so that a group has the wanted rules and no other. */
export function rulesToChange<R extends Omit<CloudRule, 'id'>>(
  has: readonly CloudRule[],
  wanted: readonly R[],
): { readonly missing: readonly R[]; readonly excess: readonly CloudRule[] } {
  const [hasKeys, wantedKeys] = [has, wanted].map((rules) => new Set(rules.map(keyOf)))
  return {
    missing: wanted.filter((rule) => !hasKeys!.has(keyOf(rule))),
    excess: has.filter((rule) => !wantedKeys!.has(keyOf(rule))),
  }
}

function keyOf(rule: Omit<CloudRule, 'id'>): string {
  // Clouds keep the name or the number, whichever they like.
  const protocol = usualProtocol(String(rule.protocol ?? ''))
  return [
    rule.direction,
    rule.ethertype,
    protocol,
    rule.port_range_min,
    rule.port_range_max,
    anywhere(rule.remote_ip_prefix),
    rule.remote_group_id,
  ].join(' ')
}

function anywhere(prefix: string | null): string | null {
  return prefix === '0.0.0.0/0' || prefix === '::/0' ? null : prefix
}
