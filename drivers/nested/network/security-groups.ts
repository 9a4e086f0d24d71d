import { type Static, Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import type { FilterRule } from '../../firewall.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import { groupName, idsOf } from '../names.ts'
import { CloudRule, type RuleBody, ruleBodies, rulesToChange } from './group-rules.ts'

const Group = Type.Object({
  id: Id,
  name: Type.String(),
  security_group_rules: Type.Array(CloudRule),
})
type Group = Static<typeof Group>

const MadeGroup = Type.Object({ security_group: Group })
const ListedGroups = Type.Object({ security_groups: Type.Array(Group) })

/**
 * Our users' security groups in the nested cloud: one there for each of ours that a port there needs, so that guests of two
 * projects have nothing in common. The cloud's own `default` group is never used.
 */
export class SecurityGroups {
  readonly #cloud: Cloud
  readonly #lock = new KeyedLock<string>()

  constructor(cloud: Cloud) {
    this.#cloud = cloud
  }

  /** The id below of a group of ours, by its id here; a new one lets out what the cloud lets out by itself. */
  async ensure(id: string, signal: AbortSignal): Promise<string> {
    return (await this.#ensure(id, signal)).id
  }

  /** The same; afterwards it has these rules and no other. Groups that they name are made. */
  async ensureWith(id: string, rules: readonly FilterRule[], signal: AbortSignal): Promise<string> {
    const named = [...new Set(rules.flatMap(({ remoteGroupId }) => remoteGroupId ?? []))]
    const remotes = new Map<string, string>()
    for (const remote of named) remotes.set(remote, await this.ensure(remote, signal))
    const group = await this.#ensure(id, signal)
    await this.#lock.run(id, signal, () =>
      this.#change(group, ruleBodies(group.id, rules, remotes), signal),
    )
    return group.id
  }

  /** Of groups below, the ids here of those that are ours. */
  async idsOf(groups: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const found = groups.length === 0 ? [] : await this.#list({}, signal)
    return idsOf(found.filter(({ id }) => groups.includes(id)).map(({ name }) => name))
  }

  /** Afterwards the group is not there, unless a port has it or `isUsed` says so. */
  async release(id: string, isUsed: () => boolean, signal: AbortSignal): Promise<void> {
    await this.#lock.run(id, signal, async () => {
      if (isUsed()) return
      for (const group of await this.#list({ name: groupName(id) }, signal))
        await this.#remove(`/security-groups/${group.id}`, signal)
    })
  }

  async #ensure(id: string, signal: AbortSignal): Promise<Group> {
    const name = groupName(id)
    return this.#lock.run(id, signal, async () => {
      const [found] = await this.#list({ name }, signal)
      if (found !== undefined) return found
      const security_group = { name, description: 'A security group of Weir.' }
      const { body } = await this.#cloud.ask(MadeGroup, 'network', 'POST', '/security-groups', {
        body: { security_group },
        signal,
      })
      return body.security_group
    })
  }

  async #change(group: Group, wanted: readonly RuleBody[], signal: AbortSignal): Promise<void> {
    const { missing, excess } = rulesToChange(group.security_group_rules, wanted)
    for (const rule of missing)
      await this.#cloud
        .call('network', 'POST', '/security-group-rules', {
          body: { security_group_rule: rule },
          signal,
        })
        .catch((error: unknown) => {
          // Somebody else has made it just now.
          if (!isFailure(error, 'conflict')) throw error
        })
    for (const { id } of excess) await this.#remove(`/security-group-rules/${id}`, signal)
  }

  async #list(
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<readonly Group[]> {
    const { projectId } = await this.#cloud.access(signal)
    const { body } = await this.#cloud.ask(ListedGroups, 'network', 'GET', '/security-groups', {
      query: { ...query, project_id: projectId },
      signal,
    })
    return body.security_groups.toSorted((a, b) => a.id.localeCompare(b.id))
  }

  /** One that is in use stays. */
  async #remove(path: string, signal: AbortSignal): Promise<void> {
    await this.#cloud.call('network', 'DELETE', path, { signal }).catch((error: unknown) => {
      if (!isFailure(error, 'not-found', 'conflict')) throw error
    })
  }
}
