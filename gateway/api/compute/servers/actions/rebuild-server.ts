import type { operations } from '#openapi/compute.gen.ts'
import { newPassword } from '../../../../app/servers/new-password.ts'
import { rebuildServer as rebuild } from '../../../../app/servers/rebuild-server.ts'
import { showServer } from '../../../../app/servers/show-server.ts'
import type { Handler } from '../../../../http/operation.ts'
import { oneServer } from '../one-server.ts'

export const rebuildServer: Handler<operations['rebuildServer']> = async (call) => {
  const { app, context, params, body, links } = call
  const asked = body.rebuild
  const password = asked.adminPass ?? newPassword()
  const { userData: user_data, shown } = await rebuild(app, context, params.server_id, {
    imageRef: asked.imageRef,
    password,
    keepsEphemeral: asked.preserve_ephemeral ?? false,
    name: asked.name,
    hostname: asked.hostname,
    description: asked.description,
    metadata: asked.metadata,
    diskConfig: asked['OS-DCF:diskConfig'],
    accessIPv4: asked.accessIPv4,
    accessIPv6: asked.accessIPv6,
    keyName: asked.key_name,
    userData: asked.user_data,
    files: asked.personality ?? [],
    trustedCertificates: asked.trusted_image_certificates,
  })
  const server = await showServer(app.db, context, params.server_id)
  const view = await oneServer(call, { ...server, ...shown })
  return {
    body: { server: { ...view, adminPass: password, user_data } },
    headers: { Location: links.to(`/compute/v2.1/servers/${server.id}`) },
  }
}
