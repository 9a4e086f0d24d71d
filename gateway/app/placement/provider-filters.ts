import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Provider } from './provider.ts'
import type { RequestedAmounts } from './resource-classes.ts'

/** A condition on providers. */
export type ProviderFilter = (provider: Provider) => boolean

/** Room for every amount, none of them more than the host has in all. */
export function hasRoom(amounts: RequestedAmounts): ProviderFilter {
  return ({ inventories }) =>
    [...amounts].every(([name, amount]) => {
      const inventory = [...inventories].find(([provided]) => provided === name)?.[1]
      if (inventory === undefined || amount > inventory.total) return false
      return inventory.used + amount <= inventory.capacity
    })
}

/** Of each `required`: all of its traits, none of those after `!`; after `in:`, one of them. Throws `invalid`. */
export function hasTraits(required: readonly string[]): ProviderFilter {
  const groups = required.map(traitGroup)
  return ({ traits }) => groups.every((group) => group(new Set(traits)))
}

const TRAIT = /^[A-Z0-9_]{1,255}$/

function traitGroup(text: string): (traits: ReadonlySet<string>) => boolean {
  const isChoice = text.startsWith('in:')
  const names = (isChoice ? text.slice('in:'.length) : text).split(',')
  const bare = names.map((name) => (isChoice ? name : name.replace(/^!/, '')))
  const bad = bare.find((name) => !TRAIT.test(name))
  if (bad !== undefined)
    throw new Failure('invalid', `Invalid query string parameters: '${bad}' is no trait.`)
  if (isChoice) return (traits) => bare.some((name) => traits.has(name))
  return (traits) =>
    names.every((name) => (name.startsWith('!') ? !traits.has(name.slice(1)) : traits.has(name)))
}

/** Of each `member_of`: in one of its aggregates; after `!`, in none of them. Throws `invalid`. */
export function isMember(memberOf: readonly string[]): ProviderFilter {
  const groups = memberOf.map(aggregateGroup)
  return ({ aggregates }) => groups.every((group) => group(new Set(aggregates)))
}

function aggregateGroup(text: string): (aggregates: ReadonlySet<string>) => boolean {
  const isForbidden = text.startsWith('!')
  const ids = text.replace(/^!/, '').replace(/^in:/, '').split(',')
  const bad = ids.find((id) => !isUuid(id))
  if (bad !== undefined)
    throw new Failure('invalid', `Invalid query string parameters: '${bad}' is not a UUID.`)
  return (aggregates) => ids.some((id) => aggregates.has(id)) !== isForbidden
}

/** A host is a tree of its own. Throws `invalid`. */
export function isInTree(id: string): ProviderFilter {
  if (!isUuid(id))
    throw new Failure('invalid', `Invalid query string parameters: '${id}' is not a UUID.`)
  return (provider) => provider.id === id
}
