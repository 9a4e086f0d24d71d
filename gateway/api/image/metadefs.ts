import type {
  NewMetadefAssociation,
  NewMetadefNamespace,
  NewMetadefObject,
  operations,
} from '#openapi/image.gen.ts'
import {
  createNamespace,
  type NamespaceFields,
  removeNamespace,
  replaceNamespace,
} from '../../app/images/metadefs/change-namespaces.ts'
import {
  listNamespaces,
  pageOf,
  resourceTypes,
  visibleNamespace,
} from '../../app/images/metadefs/list-namespaces.ts'
import type { PartFields, PartKind, PropertySchema } from '../../app/images/metadefs/namespace.ts'
import {
  addPart,
  onePart,
  type Place,
  prefixedProperty,
  removePart,
  removeParts,
  replacePart,
  setTags,
} from '../../app/images/metadefs/parts.ts'
import { HttpRefusal } from '../../http/http-refusal.ts'
import type { Answer, Call } from '../../http/operation.ts'
import {
  associationView,
  namespaceHeadView,
  namespaceListView,
  namespacePath,
  namespaceView,
  objectView,
  partView,
  propertiesOf,
  propertyView,
} from '../../views/image/metadef.ts'
import { metadefSchemaNamed } from '../../views/image/metadef-schemas.ts'

type List = operations['listMetadefNamespaces']
type Create = operations['createMetadefNamespace']
type Show = operations['showMetadefNamespace']
type Replace = operations['replaceMetadefNamespace']
type Delete = operations['deleteMetadefNamespace']
type Types = operations['listMetadefResourceTypes']
type Schema = operations['showMetadefSchema']

async function list({ app, context, query, raw }: Call<List>): Promise<Answer<List>> {
  const { resource_types: types, ...others } = query
  const asked = { ...others, resourceTypes: types?.split(',').map((name) => name.trim()) }
  const page = await listNamespaces(app.images, context, asked)
  return { body: namespaceListView(page, raw.search) }
}

async function create({ app, context, body, links }: Call<Create>): Promise<Answer<Create>> {
  const made = await createNamespace(app.images, context, fieldsOf(body), {
    resourceTypes: (body.resource_type_associations ?? []).map(associationFields),
    properties: Object.entries(body.properties ?? {}).map(([name, it]) => propertyFields(name, it)),
    objects: (body.objects ?? []).map(objectFields),
    tags: (body.tags ?? []).map(({ name }) => ({ name })),
  })
  const headers = { Location: links.to(`/image${namespacePath(made.name)}`) }
  return { body: namespaceView(made), headers }
}

async function show({ app, context, params, query }: Call<Show>): Promise<Answer<Show>> {
  const found = await visibleNamespace(app.images, context, params.namespace)
  return { body: namespaceView(found, query.resource_type) }
}

async function replace({ app, context, params, body }: Call<Replace>): Promise<Answer<Replace>> {
  const after = await replaceNamespace(app.images, context, params.namespace, fieldsOf(body))
  return { body: namespaceHeadView({ ...after, resourceTypes: [] }) }
}

async function remove({ app, context, params }: Call<Delete>): Promise<Answer<Delete>> {
  await removeNamespace(app.images, context, params.namespace)
  return {}
}

async function listTypes({ app, context }: Call<Types>): Promise<Answer<Types>> {
  return { body: { resource_types: (await resourceTypes(app.images, context)).map(partView) } }
}

async function showSchema({ params }: Call<Schema>): Promise<Answer<Schema>> {
  const body = metadefSchemaNamed(params.metadef_schema)
  if (body === undefined)
    throw new HttpRefusal(404, `There is no schema metadefs/${params.metadef_schema}.`)
  return { body }
}

function fieldsOf(body: Omit<NewMetadefNamespace, keyof Parts>): NamespaceFields {
  return {
    name: body.namespace,
    displayName: body.display_name ?? null,
    description: body.description ?? null,
    visibility: body.visibility ?? 'private',
    isProtected: body.protected ?? false,
    owner: body.owner,
  }
}

type Parts = Pick<
  NewMetadefNamespace,
  'resource_type_associations' | 'properties' | 'objects' | 'tags'
>

/** What openapi/image/metadefs.yaml describes of namespaces, and the schemas of all. */
export const metadefNamespaceHandlers = {
  listMetadefNamespaces: list,
  createMetadefNamespace: create,
  showMetadefNamespace: show,
  replaceMetadefNamespace: replace,
  deleteMetadefNamespace: remove,
  listMetadefResourceTypes: listTypes,
  showMetadefSchema: showSchema,
}

/** How parts of a namespace are read, by themselves and with a new namespace. */

function associationFields(body: NewMetadefAssociation): PartFields<'resourceTypes'> {
  const { name, prefix, properties_target: propertiesTarget } = body
  return {
    name,
    ...(prefix !== undefined && { prefix }),
    ...(propertiesTarget !== undefined && { propertiesTarget }),
  }
}

function objectFields(body: NewMetadefObject): PartFields<'objects'> {
  const { name, description, required, properties } = body
  return {
    name,
    ...(description !== undefined && { description }),
    ...(required !== undefined && { required }),
    ...(properties !== undefined && { properties: properties as Record<string, PropertySchema> }),
  }
}

function propertyFields(name: string, schema: object): PartFields<'properties'> {
  return { name, schema: schema as PropertySchema }
}

type Op<Name extends keyof operations> = Call<operations[Name]>
type Reply<Name extends keyof operations> = Promise<Answer<operations[Name]>>

const seen = ({ app, context }: Call, name: string) => visibleNamespace(app.images, context, name)
const place = <Kind extends PartKind>(
  kind: Kind,
  namespace: string,
  name: string,
): Place<Kind> => ({ kind, namespace, name })

/** The objects of a namespace, as openapi/image/metadefs.yaml describes them. */
export const metadefPartHandlers = {
  async listMetadefAssociations(
    call: Op<'listMetadefAssociations'>,
  ): Reply<'listMetadefAssociations'> {
    const found = await seen(call, call.params.namespace)
    return { body: { resource_type_associations: found.resourceTypes.map(associationView) } }
  },
  async addMetadefAssociation(call: Op<'addMetadefAssociation'>): Reply<'addMetadefAssociation'> {
    const { app, context, params, body } = call
    const fields = associationFields(body)
    const made = await addPart(app.images, context, params.namespace, 'resourceTypes', fields)
    return { body: associationView(made) }
  },
  async removeMetadefAssociation(
    call: Op<'removeMetadefAssociation'>,
  ): Reply<'removeMetadefAssociation'> {
    const { app, context, params } = call
    const at = place('resourceTypes', params.namespace, params.resource_type)
    await removePart(app.images, context, at)
    return {}
  },

  async listMetadefProperties(call: Op<'listMetadefProperties'>): Reply<'listMetadefProperties'> {
    const { properties } = await seen(call, call.params.namespace)
    return { body: { properties: propertiesOf(properties) } }
  },
  async addMetadefProperty(call: Op<'addMetadefProperty'>): Reply<'addMetadefProperty'> {
    const { app, context, params, body } = call
    const { name, ...schema } = body
    const fields = propertyFields(name, schema)
    const made = await addPart(app.images, context, params.namespace, 'properties', fields)
    return { body: propertyView(made) }
  },
  async showMetadefProperty(call: Op<'showMetadefProperty'>): Reply<'showMetadefProperty'> {
    const { app, context, params, query } = call
    const at = place('properties', params.namespace, params.property_name)
    const { resource_type: type } = query
    const found =
      type === undefined
        ? await onePart(app.images, context, at)
        : await prefixedProperty(app.images, context, at, type)
    return { body: propertyView(found) }
  },
  async replaceMetadefProperty(
    call: Op<'replaceMetadefProperty'>,
  ): Reply<'replaceMetadefProperty'> {
    const { app, context, params, body } = call
    const { name, ...schema } = body
    const at = place('properties', params.namespace, params.property_name)
    const after = await replacePart(app.images, context, at, propertyFields(name, schema))
    return { body: propertyView(after) }
  },
  async removeMetadefProperty(call: Op<'removeMetadefProperty'>): Reply<'removeMetadefProperty'> {
    const { app, context, params } = call
    const at = place('properties', params.namespace, params.property_name)
    await removePart(app.images, context, at)
    return {}
  },
  async removeMetadefProperties(
    call: Op<'removeMetadefProperties'>,
  ): Reply<'removeMetadefProperties'> {
    const { app, context, params } = call
    await removeParts(app.images, context, params.namespace, 'properties')
    return {}
  },

  async listMetadefObjects(call: Op<'listMetadefObjects'>): Reply<'listMetadefObjects'> {
    const { name, objects } = await seen(call, call.params.namespace)
    const { items } = pageOf(objects, call.query)
    const schema = '/v2/schemas/metadefs/objects'
    return { body: { objects: items.map((it) => objectView(name, it)), schema } }
  },
  async addMetadefObject(call: Op<'addMetadefObject'>): Reply<'addMetadefObject'> {
    const { app, context, params, body } = call
    const fields = objectFields(body)
    const made = await addPart(app.images, context, params.namespace, 'objects', fields)
    return { body: objectView(params.namespace, made) }
  },
  async showMetadefObject(call: Op<'showMetadefObject'>): Reply<'showMetadefObject'> {
    const { app, context, params } = call
    const at = place('objects', params.namespace, params.object_name)
    return { body: objectView(params.namespace, await onePart(app.images, context, at)) }
  },
  async replaceMetadefObject(call: Op<'replaceMetadefObject'>): Reply<'replaceMetadefObject'> {
    const { app, context, params, body } = call
    const at = place('objects', params.namespace, params.object_name)
    const after = await replacePart(app.images, context, at, objectFields(body))
    return { body: objectView(params.namespace, after) }
  },
  async removeMetadefObject(call: Op<'removeMetadefObject'>): Reply<'removeMetadefObject'> {
    const { app, context, params } = call
    await removePart(app.images, context, place('objects', params.namespace, params.object_name))
    return {}
  },
  async removeMetadefObjects(call: Op<'removeMetadefObjects'>): Reply<'removeMetadefObjects'> {
    const { app, context, params } = call
    await removeParts(app.images, context, params.namespace, 'objects')
    return {}
  },

  async listMetadefTags(call: Op<'listMetadefTags'>): Reply<'listMetadefTags'> {
    const { tags } = await seen(call, call.params.namespace)
    return { body: { tags: pageOf(tags, call.query).items.map(({ name }) => ({ name })) } }
  },
  async setMetadefTags(call: Op<'setMetadefTags'>): Reply<'setMetadefTags'> {
    const { app, context, params, body, raw } = call
    const tags = (body.tags ?? []).map(({ name }) => ({ name }))
    const areKept = /^(?:true|1|yes|on|t|y)$/i.test(raw.header('x-openstack-append') ?? '')
    await setTags(app.images, context, params.namespace, tags, areKept)
    return { body: { tags } }
  },
  async addMetadefTag(call: Op<'addMetadefTag'>): Reply<'addMetadefTag'> {
    const { app, context, params } = call
    const fields = { name: params.tag_name }
    const made = await addPart(app.images, context, params.namespace, 'tags', fields)
    return { body: partView(made) }
  },
  async showMetadefTag(call: Op<'showMetadefTag'>): Reply<'showMetadefTag'> {
    const { app, context, params } = call
    const at = place('tags', params.namespace, params.tag_name)
    return { body: partView(await onePart(app.images, context, at)) }
  },
  async replaceMetadefTag(call: Op<'replaceMetadefTag'>): Reply<'replaceMetadefTag'> {
    const { app, context, params, body } = call
    const at = place('tags', params.namespace, params.tag_name)
    return { body: partView(await replacePart(app.images, context, at, { name: body.name })) }
  },
  async removeMetadefTag(call: Op<'removeMetadefTag'>): Reply<'removeMetadefTag'> {
    const { app, context, params } = call
    await removePart(app.images, context, place('tags', params.namespace, params.tag_name))
    return {}
  },
  async removeMetadefTags(call: Op<'removeMetadefTags'>): Reply<'removeMetadefTags'> {
    const { app, context, params } = call
    await removeParts(app.images, context, params.namespace, 'tags')
    return {}
  },
}
