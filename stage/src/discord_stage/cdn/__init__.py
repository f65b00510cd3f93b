"""Files: `file_server` serves attachments and pictures, `drawn_avatars` draws faces from names."""
