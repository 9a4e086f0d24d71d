import { isFailure } from '#common/errors.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { Cloud } from '../cloud/cloud.ts'

interface Rule {
  readonly direction: string
  readonly ethertype: string
  readonly remote_group_id: string | null
}

interface Group {
  readonly id: string
  readonly security_group_rules: readonly Rule[]
}

const ETHERTYPES = ['IPv4', 'IPv6'] as const

/**
 * One security group per project of ours: its guests reach each other and the outside, and nobody else reaches them. The
 * cloud's own `default` group is never used, for in it guests of all our projects would reach each other.
 */
export class SecurityGroups {
  readonly #cloud: Cloud
  readonly #lock = new KeyedLock<string>()

  constructor(cloud: Cloud) {
    this.#cloud = cloud
  }

  /** The group's id; afterwards it has its rules. */
  async ensure(name: string, signal: AbortSignal): Promise<string> {
    return this.#lock.run(name, signal, async () => {
      const group = (await this.#find(name, signal)) ?? (await this.#make(name, signal))
      for (const ethertype of ETHERTYPES) {
        const isThere = group.security_group_rules.some(
          (rule) =>
            rule.direction === 'ingress' &&
            rule.ethertype === ethertype &&
            rule.remote_group_id === group.id,
        )
        if (!isThere) await this.#allowWithin(group.id, ethertype, signal)
      }
      return group.id
    })
  }

  /** Afterwards the group is not there, unless a port has it. */
  async release(name: string, isUsed: () => boolean, signal: AbortSignal): Promise<void> {
    await this.#lock.run(name, signal, async () => {
      const group = isUsed() ? undefined : await this.#find(name, signal)
      if (group === undefined) return
      await this.#cloud
        .call('network', 'DELETE', `/security-groups/${group.id}`, { signal })
        .catch((error: unknown) => {
          if (!isFailure(error, 'not-found', 'conflict')) throw error
        })
    })
  }

  async #find(name: string, signal: AbortSignal): Promise<Group | undefined> {
    const { projectId } = await this.#cloud.access(signal)
    const query = { name, project_id: projectId }
    const { body } = await this.#cloud.call<{ security_groups: readonly Group[] }>(
      'network',
      'GET',
      '/security-groups',
      { query, signal },
    )
    return body.security_groups.toSorted((a, b) => a.id.localeCompare(b.id))[0]
  }

  async #make(name: string, signal: AbortSignal): Promise<Group> {
    const body = { security_group: { name, description: 'Guests of one project of Weir.' } }
    const answer = await this.#cloud.call<{ security_group: Group }>(
      'network',
      'POST',
      '/security-groups',
      { body, signal },
    )
    return answer.body.security_group
  }

  async #allowWithin(id: string, ethertype: string, signal: AbortSignal): Promise<void> {
    const security_group_rule = {
      security_group_id: id,
      remote_group_id: id,
      direction: 'ingress',
      ethertype,
    }
    await this.#cloud
      .call('network', 'POST', '/security-group-rules', { body: { security_group_rule }, signal })
      .catch((error: unknown) => {
        if (!isFailure(error, 'conflict')) throw error
      })
  }
}
