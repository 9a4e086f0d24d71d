import type { operations } from '#openapi/volume.gen.ts'
import {
  createTypeEncryption as create,
  type EncryptionRequest,
  noEncryption,
  deleteTypeEncryption as remove,
  showTypeEncryption as show,
  showVolumeEncryption as showOfVolume,
  updateEncryption,
} from '../../app/volumes/type-encryption.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { encryptionSpecs, typeEncryptionView } from '../../views/volume/type-encryption.ts'

type Asked = Call<operations['updateTypeEncryption']>['body']['encryption']

function requestOf({ provider, cipher, key_size, control_location }: Asked): EncryptionRequest {
  return { provider, cipher, keySize: key_size, controlLocation: control_location }
}

/** GET /v3/types/{type_id}/encryption: an empty object for a type whose volumes are not encrypted. */
const showTypeEncryption: Handler<operations['showTypeEncryption']> = async (call) => {
  const { type, encryption } = await show(call.app.db, call.context, call.params.type_id)
  return { body: encryption === null ? {} : typeEncryptionView(type, encryption) }
}

/** POST /v3/types/{type_id}/encryption */
const createTypeEncryption: Handler<operations['createTypeEncryption']> = async (call) => {
  const { app, context, params, body } = call
  const made = await create(app.db, context, params.type_id, requestOf(body.encryption))
  const specs = encryptionSpecs(made)
  return {
    body: { encryption: { ...specs, encryption_id: made.id, volume_type_id: params.type_id } },
  }
}

/** GET /v3/types/{type_id}/encryption/{key}: as in Cinder, one of the properties. */
const showTypeEncryptionKey: Handler<operations['showTypeEncryptionKey']> = async (call) => {
  const { type_id, key } = call.params
  const { type, encryption } = await show(call.app.db, call.context, type_id)
  const view = encryption === null ? {} : typeEncryptionView(type, encryption)
  const value = Object.entries(view).find(([name]) => name === key)?.[1]
  if (value === undefined) throw noEncryption(type)
  return { body: { [key]: value } }
}

/** PUT /v3/types/{type_id}/encryption/{key}: as in Cinder, whatever the key is; its client sends `provider`. */
const updateTypeEncryption: Handler<operations['updateTypeEncryption']> = async (call) => {
  const { app, context, params, body } = call
  const asked = requestOf(body.encryption)
  const changed = await updateEncryption(app.db, context, params.type_id, asked)
  return { body: { encryption: encryptionSpecs(changed) } }
}

/** DELETE /v3/types/{type_id}/encryption/{key}: as in Cinder, whatever the key is. */
const deleteTypeEncryption: Handler<operations['deleteTypeEncryption']> = async (call) => {
  await remove(call.app.db, call.context, call.params.type_id)
  return {}
}

/** GET /v3/volumes/{volume_id}/encryption: without an envelope, as in Cinder. */
const showVolumeEncryption: Handler<operations['showVolumeEncryption']> = async (call) => {
  const { app, context, params } = call
  const encryption = await showOfVolume(app.compute, context, params.volume_id)
  const specs = encryption === null ? {} : encryptionSpecs(encryption)
  return { body: { encryption_key_id: null, ...specs } }
}

export const typeEncryptionHandlers = {
  createTypeEncryption,
  deleteTypeEncryption,
  showTypeEncryption,
  showTypeEncryptionKey,
  showVolumeEncryption,
  updateTypeEncryption,
}
