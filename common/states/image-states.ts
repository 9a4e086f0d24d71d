/** Glance's states that are used here. `queued`: no content yet; `saving`: an upload runs. */
export const IMAGE_STATUSES = ['queued', 'saving', 'active', 'deactivated'] as const
export type ImageStatus = (typeof IMAGE_STATUSES)[number]

export const IMAGE_VISIBILITIES = ['public', 'private', 'shared', 'community'] as const
export type ImageVisibility = (typeof IMAGE_VISIBILITIES)[number]
