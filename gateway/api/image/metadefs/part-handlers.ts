import type { operations } from '#openapi/image.gen.ts'
import { pageOf, visibleNamespace } from '../../../app/images/metadefs/list-namespaces.ts'
import type { PartKind } from '../../../app/images/metadefs/namespace.ts'
import {
  addPart,
  onePart,
  type Place,
  prefixedProperty,
  removePart,
  removeParts,
  replacePart,
  setTags,
} from '../../../app/images/metadefs/parts.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import {
  associationView,
  objectView,
  partView,
  propertiesOf,
  propertyView,
} from '../../../views/image/metadef.ts'
import { associationFields, objectFields, propertyFields } from './part-fields.ts'

type Op<Name extends keyof operations> = Call<operations[Name]>
type Reply<Name extends keyof operations> = Promise<Answer<operations[Name]>>

const seen = ({ app, context }: Call, name: string) => visibleNamespace(app.images, context, name)
const place = <Kind extends PartKind>(
  kind: Kind,
  namespace: string,
  name: string,
): Place<Kind> => ({ kind, namespace, name })

/** What openapi/image/metadefs.yaml describes of what is in a namespace. */
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
