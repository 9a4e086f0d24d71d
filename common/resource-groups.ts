type Properties = Readonly<Record<string, string>>

/** A group of a flavor's extra specs: one part of a host gives all of it (nova: "Flavors", granular resource requests). */
export interface ResourceGroup {
  readonly suffix: string
  readonly amounts: Readonly<Record<string, number>>
  readonly required: readonly string[]
  readonly forbidden: readonly string[]
}

const KEY = /^(resources|trait)([a-zA-Z0-9_-]{1,64}):([A-Z][A-Z0-9_]*)$/
/** Of these a host has a part of its own for each; of all else it is one part. */
const PART_CLASS = /^CUSTOM_PCI_/
const HOST = 'the host'

/** The groups of `resourcesN:` and `traitN:`, by their suffixes. Amounts that are none, and of nothing, are left out. */
export function resourceGroups(extraSpecs: Properties): readonly ResourceGroup[] {
  const named = Object.entries(extraSpecs).flatMap(([key, value]) => {
    const [, what, suffix = '', name = ''] = KEY.exec(key) ?? []
    return what === undefined ? [] : [{ what, suffix, name, value }]
  })
  const suffixes = [...new Set(named.map(({ suffix }) => suffix))].toSorted()
  return suffixes.map((suffix) => {
    const own = named.filter((each) => each.suffix === suffix)
    const traits = (wanted: string) =>
      own.flatMap(({ what, name, value }) => (what === 'trait' && value === wanted ? [name] : []))
    const amounts = own.flatMap(({ what, name, value }) =>
      what === 'resources' && /^\d{1,9}$/.test(value) && Number(value) > 0
        ? [[name, Number(value)] as const]
        : [],
    )
    return {
      suffix,
      amounts: Object.fromEntries(amounts),
      required: traits('required'),
      forbidden: traits('forbidden'),
    }
  })
}

/** The sum of what the groups take, by class. */
export function groupAmounts(extraSpecs: Properties): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const { amounts } of resourceGroups(extraSpecs))
    for (const [name, amount] of Object.entries(amounts)) sums[name] = (sums[name] ?? 0) + amount
  return sums
}

/** The traits that groups want of the host itself, because it gives what they take. */
export function groupTraits(extraSpecs: Properties): Pick<ResourceGroup, 'required' | 'forbidden'> {
  const ofHost = resourceGroups(extraSpecs).filter((group) => partsOf(group).includes(HOST))
  return {
    required: ofHost.flatMap(({ required }) => required),
    forbidden: ofHost.flatMap(({ forbidden }) => forbidden),
  }
}

/** Why no host can satisfy the groups of these extra specs, as the end of a sentence about one; undefined: some may. */
export function whyGroupsFail(extraSpecs: Properties): string | undefined {
  const groups = resourceGroups(extraSpecs)
  for (const group of groups) {
    const reason = whyGroupFails(group)
    if (reason !== undefined) return reason
  }
  const policy = extraSpecs['group_policy']
  if (groups.length < 2) return undefined
  if (policy === undefined)
    return `cannot know whether ${namesOf(groups)} may be of one part of it: group_policy is not set`
  const shared = groups.find((group, nth) =>
    groups.slice(0, nth).some((other) => partsOf(other)[0] === partsOf(group)[0]),
  )
  if (policy !== 'isolate' || shared === undefined) return undefined
  const [part] = partsOf(shared)
  const same = groups.filter((group) => partsOf(group)[0] === part)
  return `has ${namesOf(same)} of one part only (${part}), and group_policy is isolate`
}

function whyGroupFails(group: ResourceGroup): string | undefined {
  const { suffix, amounts, required, forbidden } = group
  const parts = partsOf(group)
  if (parts.length === 0 && required.length + forbidden.length === 0)
    return `has nothing to give for resources${suffix}:, whose amounts are none`
  if (parts.length === 0)
    return `has nothing of which trait${suffix}: could be: there is no resources${suffix}:`
  if (parts.length > 1) return `has no part with all of resources${suffix}: (${parts.join(', ')})`
  if ('PCPU' in amounts)
    return `gives no dedicated CPUs for resources${suffix}:PCPU: they are asked for by hw:cpu_policy`
  const [trait] = required
  return trait !== undefined && parts[0] !== HOST
    ? `has no traits of ${parts[0]} (trait${suffix}:${trait})`
    : undefined
}

/** Of a host, those that have what the group takes. */
function partsOf({ amounts }: ResourceGroup): readonly string[] {
  const names = Object.keys(amounts)
  return [...new Set(names.map((name) => (PART_CLASS.test(name) ? name : HOST)))]
}

function namesOf(groups: readonly ResourceGroup[]): string {
  return groups.map(({ suffix }) => `resources${suffix}:`).join(' and ')
}
