import { Failure } from '#common/errors.ts'

/** A part of a namespace, by its name in it. */
export interface Part {
  readonly name: string
  /** ISO 8601, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** The permitted values of a property, in JSON Schema, as clients show them; checked by its document, and not used here. */
export type PropertySchema = Readonly<Record<string, unknown>>

export interface PropertyDefinition extends Part {
  readonly schema: PropertySchema
}

/** Properties that belong together. */
export interface ObjectDefinition extends Part {
  readonly description?: string | undefined
  /** Names of properties. */
  readonly required?: readonly string[] | undefined
  readonly properties?: Readonly<Record<string, PropertySchema>> | undefined
}

/** To what kind of thing the definitions apply. */
export interface ResourceTypeAssociation extends Part {
  /** The prefix of the names of properties on that resource type. */
  readonly prefix?: string | undefined
  /** Which of several sets of properties of the thing is meant. */
  readonly propertiesTarget?: string | undefined
}

/** A namespace as lists show it. */
export interface NamespaceHead {
  readonly name: string
  readonly displayName: string | null
  readonly description: string | null
  readonly visibility: 'public' | 'private'
  /** True: the namespace and its content cannot be deleted. */
  readonly isProtected: boolean
  /** A project. */
  readonly owner: string
  readonly resourceTypes: readonly ResourceTypeAssociation[]
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Glance's metadata definitions: the properties that users can choose from. Other properties stay allowed. */
export interface Namespace extends NamespaceHead {
  readonly properties: readonly PropertyDefinition[]
  readonly objects: readonly ObjectDefinition[]
  readonly tags: readonly Part[]
}

export type PartKind = 'resourceTypes' | 'properties' | 'objects' | 'tags'
export type PartOf<Kind extends PartKind> = Namespace[Kind][number]
export type PartFields<Kind extends PartKind> = Omit<PartOf<Kind>, 'createdAt' | 'updatedAt'>

/** The name of each kind of part in messages. */
export const PART_NAMES: Readonly<Record<PartKind, string>> = {
  resourceTypes: 'resource type association',
  properties: 'property',
  objects: 'object',
  tags: 'tag',
}

/** A part of a namespace as created now. */
export function newPart<Kind extends PartKind>(fields: PartFields<Kind>, now: Date): PartOf<Kind> {
  const time = now.toISOString()
  return { ...fields, createdAt: time, updatedAt: time } as PartOf<Kind>
}

/** Throws `conflict` for two parts of a kind with one name. */
export function refuseRepeated(namespace: Namespace): void {
  for (const kind of Object.keys(PART_NAMES) as PartKind[]) {
    const names = namespace[kind].map(({ name }) => name)
    const repeated = names.find((name, nth) => names.indexOf(name) !== nth)
    if (repeated !== undefined) throw taken(namespace, kind, repeated)
  }
}

/** The failure for a part whose name the namespace has. */
export function taken(namespace: Namespace, kind: PartKind, name: string): Failure {
  return new Failure(
    'conflict',
    `The namespace ${namespace.name} has the ${PART_NAMES[kind]} ${name} already.`,
  )
}
