import type { Compute } from '../../compute.ts'
import type { Images } from '../../images/images.ts'
import type { Networks } from '../../networks/list-networks.ts'

/** What promising servers works with. */
export interface Boot {
  readonly compute: Compute
  readonly images: Images
  readonly networks: Networks
}
