/** Who may ask what of the federation API: its operators, and of intents also those whose servers they are about. */
export const FEDERATION_POLICY = {
  'federation:cells:delete': 'admin',
  'federation:cells:list': 'system-reader',
  'federation:cells:lost': 'admin',
  'federation:cells:show': 'system-reader',
  'federation:cells:update': 'admin',
  'federation:drivers:list': 'system-reader',
  'federation:hosts:list': 'system-reader',
  'federation:hosts:show': 'system-reader',
  'federation:hosts:update': 'admin',
  'federation:intents:cancel': 'member',
  'federation:intents:list': 'reader',
  'federation:servers:trace': 'admin',
  'federation:tokens:create': 'admin',
  'federation:tokens:delete': 'admin',
  'federation:tokens:list': 'system-reader',
} as const
