/** Who may ask what of the federation API: its operators, and of what happened to their servers all. */
export const FEDERATION_POLICY = {
  'federation:audit:list': 'admin',
  'federation:cells:list': 'system-reader',
  'federation:cells:show': 'system-reader',
  'federation:cells:update': 'admin',
  'federation:drivers:list': 'system-reader',
  'federation:events:list': 'reader',
  'federation:hosts:drain': 'admin',
  'federation:hosts:list': 'system-reader',
  'federation:hosts:show': 'system-reader',
  'federation:hosts:update': 'admin',
  'federation:operations:cancel': 'admin',
  'federation:operations:list': 'system-reader',
  'federation:operations:show': 'system-reader',
  'federation:placements:explain': 'admin',
  'federation:servers:trace': 'admin',
} as const
