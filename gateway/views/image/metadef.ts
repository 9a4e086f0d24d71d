import type {
  MetadefAssociation,
  MetadefNamespace,
  MetadefObject,
  MetadefPropertyAnswer,
} from '#openapi/image.gen.ts'
import type { Page } from '../../app/images/metadefs/list-namespaces.ts'
import type {
  Namespace,
  NamespaceHead,
  ObjectDefinition,
  Part,
  PropertyDefinition,
  PropertySchema,
  ResourceTypeAssociation,
} from '../../app/images/metadefs/namespace.ts'

const NAMESPACES = '/v2/metadefs/namespaces'

/** A namespace as lists show it: with what it applies to, and without its other parts. */
export function namespaceHeadView(it: NamespaceHead): MetadefNamespace {
  return {
    namespace: it.name,
    ...(it.displayName !== null && { display_name: it.displayName }),
    ...(it.description !== null && { description: it.description }),
    visibility: it.visibility,
    protected: it.isProtected,
    owner: it.owner,
    created_at: secondsOf(it.createdAt),
    updated_at: secondsOf(it.updatedAt),
    schema: '/v2/schemas/metadefs/namespace',
    self: namespacePath(it.name),
    ...(it.resourceTypes.length > 0 && {
      resource_type_associations: it.resourceTypes.map(associationView),
    }),
  }
}

/** A namespace with its parts. Its properties have the prefix of the resource type, if a request names one. */
export function namespaceView(it: Namespace, resourceType?: string): MetadefNamespace {
  const { prefix = '' } = it.resourceTypes.find(({ name }) => name === resourceType) ?? {}
  return {
    ...namespaceHeadView(it),
    ...(it.properties.length > 0 && { properties: prefixed(prefix, propertiesOf(it.properties)) }),
    ...(it.objects.length > 0 && {
      objects: it.objects.map((object) => objectView(it.name, withPrefix(prefix, object))),
    }),
    ...(it.tags.length > 0 && { tags: it.tags.map(({ name }) => ({ name })) }),
  }
}

export function namespacePath(name: string): string {
  return `${NAMESPACES}/${encodeURI(name)}`
}

export function namespaceListView({ items, nextMarker }: Page<NamespaceHead>, search: string) {
  return {
    namespaces: items.map(namespaceHeadView),
    first: pathWith(search, undefined),
    ...(nextMarker !== undefined && { next: pathWith(search, nextMarker) }),
    schema: '/v2/schemas/metadefs/namespaces',
  }
}

export function associationView(it: ResourceTypeAssociation): MetadefAssociation {
  return {
    name: it.name,
    ...(it.prefix !== undefined && { prefix: it.prefix }),
    ...(it.propertiesTarget !== undefined && { properties_target: it.propertiesTarget }),
    ...datesView(it),
  }
}

export function objectView(namespace: string, it: ObjectDefinition): MetadefObject {
  return {
    name: it.name,
    ...(it.description !== undefined && { description: it.description }),
    ...(it.required !== undefined && { required: it.required }),
    ...(it.properties !== undefined && { properties: it.properties }),
    schema: '/v2/schemas/metadefs/object',
    self: `${namespacePath(namespace)}/objects/${encodeURI(it.name)}`,
    ...datesView(it),
  }
}

export function propertyView({ name, schema }: PropertyDefinition): MetadefPropertyAnswer {
  return { ...schema, name }
}

export function propertiesOf(
  properties: readonly PropertyDefinition[],
): Record<string, PropertySchema> {
  return Object.fromEntries(properties.map(({ name, schema }) => [name, schema]))
}

/** A tag, or a kind of things. */
export function partView(it: Part) {
  return { name: it.name, ...datesView(it) }
}

function withPrefix(prefix: string, object: ObjectDefinition): ObjectDefinition {
  const { required, properties } = object
  return {
    ...object,
    required: required?.map((name) => prefix + name),
    properties: properties && prefixed(prefix, properties),
  }
}

function prefixed<T>(prefix: string, named: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(named).map(([name, it]) => [prefix + name, it]))
}

function datesView({ createdAt, updatedAt }: Part) {
  return {
    created_at: secondsOf(new Date(createdAt)),
    updated_at: secondsOf(new Date(updatedAt)),
  }
}

/** As Glance writes times. */
function secondsOf(time: Date): string {
  return `${time.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}Z`
}

function pathWith(search: string, marker: string | undefined): string {
  const query = new URLSearchParams(search)
  if (marker === undefined) query.delete('marker')
  else query.set('marker', marker)
  const text = query.toString()
  return text === '' ? NAMESPACES : `${NAMESPACES}?${text}`
}
