import type { operations } from '#openapi/federation.gen.ts'
import { join as letIn } from '../../../app/federation/join.ts'
import { joinUrl } from '../../../http/join-url.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v1/join */
export const join: Handler<operations['join']> = async ({ app, body, links }) => {
  const { token, public_key: publicKey, wire_versions: wireVersions } = body
  const asked = { token, publicKey, wireVersions }
  const { subject, credential, wireVersion } = await letIn(app.db, app.access, asked)
  const { cellId, cellName, hostId, hostName } = subject
  const host = hostId === null || hostName === null ? null : { id: hostId, name: hostName }
  const { natsPublicUrl: url, natsLeafUrl } = app.config
  return {
    body: {
      cell: { id: cellId, name: cellName },
      host,
      credential,
      wire_version: wireVersion,
      bus: { url, leaf_url: natsLeafUrl ?? null },
      image_url: `${joinUrl(app.config, links)}/image`,
    },
  }
}
