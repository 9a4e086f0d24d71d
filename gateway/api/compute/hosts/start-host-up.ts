import type { operations } from '#openapi/compute.gen.ts'
import { switchHost } from '../../../app/hosts/update-host.ts'
import type { Handler } from '../../../http/operation.ts'

export const startHostUp: Handler<operations['startHostUp']> = ({ app, params }) =>
  switchHost(app, params.host_name)
