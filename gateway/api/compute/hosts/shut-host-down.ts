import type { operations } from '#openapi/compute.gen.ts'
import { switchHost } from '../../../app/hosts/update-host.ts'
import type { Handler } from '../../../http/operation.ts'

export const shutHostDown: Handler<operations['shutHostDown']> = ({ app, params }) =>
  switchHost(app, params.host_name)
