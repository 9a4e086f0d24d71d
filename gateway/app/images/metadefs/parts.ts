import { Failure } from '#common/errors.ts'
import type { Requester } from '../../requester.ts'
import type { Images } from '../images.ts'
import { changeNamespace, refuseProtected } from './change-namespaces.ts'
import { visibleNamespace } from './list-namespaces.ts'
import {
  type Namespace,
  newPart,
  PART_NAMES,
  type PartFields,
  type PartKind,
  type PartOf,
  type PropertyDefinition,
  refuseRepeated,
  taken,
} from './namespace.ts'

type Deps = Pick<Images, 'db' | 'clock'>

/** Which part of which namespace. */
export interface Place<Kind extends PartKind> {
  readonly namespace: string
  readonly kind: Kind
  readonly name: string
}

/** Throws `not-found` for the namespace or the part. */
export async function onePart<Kind extends PartKind>(
  images: Deps,
  requester: Requester,
  { namespace, kind, name }: Place<Kind>,
): Promise<PartOf<Kind>> {
  return partIn(await visibleNamespace(images, requester, namespace), kind, name)
}

/** The property that has this name, with the prefix it has there, in things of the type. */
export async function prefixedProperty(
  images: Deps,
  requester: Requester,
  { namespace, name }: Omit<Place<'properties'>, 'kind'>,
  resourceType: string,
): Promise<PropertyDefinition> {
  const found = await visibleNamespace(images, requester, namespace)
  const { prefix } = partIn(found, 'resourceTypes', resourceType)
  if (prefix === undefined || prefix === '' || !name.startsWith(prefix))
    throw new Failure(
      'not-found',
      `The property ${name} does not begin with '${prefix ?? ''}', as those of ${resourceType} in ${namespace} do.`,
    )
  return partIn(found, 'properties', name.slice(prefix.length))
}

/** Throws `conflict` when there is one of the name. */
export async function addPart<Kind extends PartKind>(
  deps: Deps,
  requester: Requester,
  namespace: string,
  kind: Kind,
  fields: PartFields<Kind>,
): Promise<PartOf<Kind>> {
  const part = newPart<Kind>(fields, new Date(deps.clock.now()))
  await changeNamespace(deps, requester, namespace, (before) => {
    refuseTaken(before, kind, part.name)
    return withParts(before, kind, [...before[kind], part])
  })
  return part
}

/** Afterwards it is as given, under the name given; throws `conflict` when another one has that name. */
export async function replacePart<Kind extends PartKind>(
  deps: Deps,
  requester: Requester,
  { namespace, kind, name }: Place<Kind>,
  fields: PartFields<Kind>,
): Promise<PartOf<Kind>> {
  const now = new Date(deps.clock.now())
  const after = await changeNamespace(deps, requester, namespace, (before) => {
    const { createdAt } = partIn(before, kind, name)
    if (fields.name !== name) refuseTaken(before, kind, fields.name)
    const part = { ...newPart<Kind>(fields, now), createdAt }
    const parts: readonly PartOf<Kind>[] = before[kind]
    return withParts(
      before,
      kind,
      parts.map((it) => (it.name === name ? part : it)),
    )
  })
  return partIn(after, kind, fields.name)
}

/** Throws `forbidden` while the namespace is protected. */
export async function removePart<Kind extends PartKind>(
  deps: Deps,
  requester: Requester,
  { namespace, kind, name }: Place<Kind>,
): Promise<void> {
  await changeNamespace(deps, requester, namespace, (before) => {
    partIn(before, kind, name)
    refuseProtected(before)
    const parts: readonly PartOf<Kind>[] = before[kind]
    return withParts(
      before,
      kind,
      parts.filter((it) => it.name !== name),
    )
  })
}

/** Afterwards the namespace has none of the kind. */
export async function removeParts(
  deps: Deps,
  requester: Requester,
  namespace: string,
  kind: PartKind,
): Promise<void> {
  await changeNamespace(deps, requester, namespace, (before) => {
    refuseProtected(before)
    return withParts(before, kind, [])
  })
}

/** Afterwards the namespace has these tags, and its former ones only where they are `kept`. Throws `conflict` for one given twice. */
export async function setTags(
  deps: Deps,
  requester: Requester,
  namespace: string,
  tags: readonly PartFields<'tags'>[],
  areKept: boolean,
): Promise<void> {
  const now = new Date(deps.clock.now())
  await changeNamespace(deps, requester, namespace, (before) => {
    const added = tags.map((tag) => newPart<'tags'>(tag, now))
    const after = withParts(before, 'tags', [...(areKept ? before.tags : []), ...added])
    refuseRepeated(after)
    return after
  })
}

function refuseTaken(namespace: Namespace, kind: PartKind, name: string): void {
  if (namespace[kind].some((it) => it.name === name)) throw taken(namespace, kind, name)
}

function partIn<Kind extends PartKind>(
  namespace: Namespace,
  kind: Kind,
  name: string,
): PartOf<Kind> {
  const parts: readonly PartOf<Kind>[] = namespace[kind]
  const found = parts.find((it) => it.name === name)
  if (found === undefined)
    throw new Failure(
      'not-found',
      `There is no ${PART_NAMES[kind]} ${name} in the namespace ${namespace.name}.`,
    )
  return found
}

function withParts<Kind extends PartKind>(
  namespace: Namespace,
  kind: Kind,
  parts: readonly PartOf<Kind>[],
): Namespace {
  return { ...namespace, [kind]: parts }
}
